-- board_plan
-- A plan.
-- $1 bigint: plan
-- Returns: at most one row: store.BoardPlan
SELECT p.id, p.project, p.name, s.status, p.paused, p.on_failure, p.round, p.parallel_limit, s.tasks,
    s.not_started, s.pending, s.available, s.running, s.done, s.skipped, s.failed, s.canceled,
    s.failed + s.canceled + (SELECT count(*) FROM rowrun.task_run r WHERE r.plan_id = p.id
        AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND r.status = 'PENDING' AND r.cause = 'NO_REPLICA'), p.created_at
FROM rowrun.plan p CROSS JOIN LATERAL (SELECT * FROM rowrun.plan_status x WHERE x.plan_id = p.id OFFSET 0) s
WHERE p.id = $1
