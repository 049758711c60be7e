-- stream_idle
-- Whether no run is AVAILABLE, RUNNING, or PENDING and due.
-- Each part has an index of its own, so that a million runs that are due tomorrow are not read each second. A
-- PENDING run that no time holds (hold is set, judge_at is not) was due when it was judged.
-- Returns: true: none is
SELECT NOT (EXISTS (SELECT FROM rowrun.task_run WHERE status = 'AVAILABLE')
    OR EXISTS (SELECT FROM rowrun.task_run WHERE status = 'RUNNING')
    OR EXISTS (SELECT FROM rowrun.task_run WHERE judge_at <= (SELECT clock_timestamp()) AND plan_id IS NULL AND database_id IS NULL AND status = 'PENDING')
    OR EXISTS (SELECT FROM rowrun.task_run WHERE judge_at <= (SELECT clock_timestamp()) AND (plan_id IS NOT NULL OR database_id IS NOT NULL) AND status = 'PENDING')
    OR EXISTS (SELECT FROM rowrun.task_run WHERE status = 'PENDING' AND cause = 'PLAN')
    OR EXISTS (SELECT FROM rowrun.task_run WHERE status = 'PENDING' AND cause = 'DATABASE')
    OR EXISTS (SELECT FROM rowrun.task_run WHERE status = 'PENDING' AND cause = 'PLAN_FAILED')
    OR EXISTS (SELECT FROM rowrun.task_run WHERE status = 'PENDING' AND cause = 'PAUSED')
    OR EXISTS (SELECT FROM rowrun.task_run WHERE status = 'PENDING' AND cause = 'NO_REPLICA')
    OR EXISTS (SELECT FROM rowrun.task_run WHERE limit_wait IS NOT NULL AND status IN ('PENDING', 'AVAILABLE'))
    OR EXISTS (SELECT FROM rowrun.run_after w JOIN rowrun.task_run r ON r.id = w.run_id WHERE w.open AND coalesce(r.status, '') = 'PENDING' AND r.cause = 'DEPENDENCY')
    OR EXISTS (SELECT FROM rowrun.task_run WHERE plan_id IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND cause = 'DEPENDENCY'))
