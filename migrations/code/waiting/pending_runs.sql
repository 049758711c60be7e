-- All runs that are PENDING. No index covers all of them; each part has one of its own, so that nothing here reads the runs that have ended.
-- What has neither a mark nor a cause is found by the next sweep, which gives it one. A part for each cause that leaves a run without a plan
-- and a database without a time at which it is judged: TestEveryPendingRunIsFound has a run of each. The server puts the text of this
-- function in the place of its call, so that a LIMIT behind it ends the reading.
CREATE OR REPLACE FUNCTION rowrun.pending_runs() RETURNS TABLE (id bigint, type text, queue text, task_id bigint, plan_id bigint, database_id text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT p.id, p.type, p.queue, p.task_id, p.plan_id, p.database_id FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.database_id IS NOT NULL
    UNION ALL
    SELECT p.id, p.type, p.queue, p.task_id, p.plan_id, p.database_id FROM rowrun.task_run p
    WHERE p.plan_id IS NOT NULL AND p.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND p.status = 'PENDING' AND p.database_id IS NULL
    UNION ALL
    SELECT p.id, p.type, p.queue, p.task_id, p.plan_id, p.database_id FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.cause = 'PLAN' AND p.plan_id IS NULL AND p.database_id IS NULL
    UNION ALL
    SELECT p.id, p.type, p.queue, p.task_id, p.plan_id, p.database_id FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.cause = 'PAUSED' AND p.plan_id IS NULL AND p.database_id IS NULL
    UNION ALL
    SELECT p.id, p.type, p.queue, p.task_id, p.plan_id, p.database_id FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.cause = 'NO_REPLICA' AND p.plan_id IS NULL AND p.database_id IS NULL
    UNION ALL
    SELECT p.id, p.type, p.queue, p.task_id, p.plan_id, p.database_id FROM rowrun.task_run p
    WHERE p.limit_wait IS NOT NULL AND p.status IN ('PENDING', 'AVAILABLE') AND p.status = 'PENDING' AND p.plan_id IS NULL AND p.database_id IS NULL
      AND coalesce(p.cause, '') NOT IN ('PLAN', 'PAUSED', 'NO_REPLICA')
    UNION ALL
    SELECT p.id, p.type, p.queue, p.task_id, p.plan_id, p.database_id
    FROM (SELECT DISTINCT w.run_id FROM rowrun.run_after w WHERE w.open) a
    CROSS JOIN LATERAL (SELECT r.* FROM rowrun.task_run r WHERE r.id = a.run_id OFFSET 0) p -- one by one, not by a join that reads the table
    WHERE p.status = 'PENDING' AND p.cause = 'DEPENDENCY' AND p.judge_at IS NULL AND p.plan_id IS NULL AND p.database_id IS NULL
      AND p.limit_wait IS NULL
    UNION ALL
    SELECT p.id, p.type, p.queue, p.task_id, p.plan_id, p.database_id FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.judge_at IS NOT NULL AND p.plan_id IS NULL AND p.database_id IS NULL AND p.limit_wait IS NULL
      AND coalesce(p.cause, '') NOT IN ('PLAN', 'PAUSED', 'NO_REPLICA');
END;
COMMENT ON FUNCTION rowrun.pending_runs() IS 'Internal: all runs that are PENDING.';
