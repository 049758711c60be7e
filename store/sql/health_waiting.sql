-- health_waiting
-- How many runs wait, by status and type, up to 10,000 of each status.
-- No index covers all runs that are PENDING; each part has one of its own, so that nothing here reads the runs that have
-- ended. What has neither a mark nor a reason is found by the next sweep, which gives it one.
-- Returns: status, type, runs
WITH pending AS (
    SELECT p.type FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.database_id IS NOT NULL
    UNION ALL
    SELECT p.type FROM rowrun.task_run p
    WHERE p.plan_id IS NOT NULL AND p.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND p.status = 'PENDING' AND p.database_id IS NULL
    UNION ALL
    SELECT p.type FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.cause = 'PLAN' AND p.plan_id IS NULL AND p.database_id IS NULL
    UNION ALL
    SELECT p.type FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.cause = 'PAUSED' AND p.plan_id IS NULL AND p.database_id IS NULL
    UNION ALL
    SELECT p.type FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.cause = 'NO_REPLICA' AND p.plan_id IS NULL AND p.database_id IS NULL
    UNION ALL
    SELECT p.type FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.judge_at IS NOT NULL AND p.plan_id IS NULL AND p.database_id IS NULL
      AND coalesce(p.cause, '') NOT IN ('PLAN', 'PAUSED', 'NO_REPLICA')
)
SELECT 'PENDING', p.type, count(*)
FROM (SELECT w.type FROM pending w LIMIT 10000) p GROUP BY p.type
UNION ALL
SELECT 'AVAILABLE', a.type, count(*)
FROM (SELECT r.type FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' LIMIT 10000) a GROUP BY a.type
