-- status_counts
-- How many runs have not ended, by status, and how the deployment stands. It reads no run that ended before the last day.
-- No index covers all runs that are PENDING; each part has one of its own, so that nothing here reads the runs that have
-- ended. What has neither a mark nor a reason is found by the next sweep, which gives it one.
-- Returns: PENDING, AVAILABLE, RUNNING, FAILED for good in the last day (up to 10,000), who writes the stream ('': nobody),
--   the notification queue (0 to 1)
WITH pending AS (
    SELECT FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.database_id IS NOT NULL
    UNION ALL
    SELECT FROM rowrun.task_run p
    WHERE p.plan_id IS NOT NULL AND p.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND p.status = 'PENDING' AND p.database_id IS NULL
    UNION ALL
    SELECT FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.cause = 'PLAN' AND p.plan_id IS NULL AND p.database_id IS NULL
    UNION ALL
    SELECT FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.cause = 'PAUSED' AND p.plan_id IS NULL AND p.database_id IS NULL
    UNION ALL
    SELECT FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.cause = 'NO_REPLICA' AND p.plan_id IS NULL AND p.database_id IS NULL
    UNION ALL
    SELECT FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.judge_at IS NOT NULL AND p.plan_id IS NULL AND p.database_id IS NULL
      AND coalesce(p.cause, '') NOT IN ('PLAN', 'PAUSED', 'NO_REPLICA')
)
SELECT (SELECT count(*) FROM pending),
       (SELECT count(*) FROM rowrun.task_run a WHERE a.status = 'AVAILABLE'),
       (SELECT count(*) FROM rowrun.task_run w WHERE w.status = 'RUNNING'),
       (SELECT count(*) FROM (SELECT FROM rowrun.task_run f
                              WHERE f.status = 'FAILED' AND f.retry_run_id IS NULL AND f.finished_at > now() - interval '24 hours'
                              ORDER BY f.finished_at DESC LIMIT 10000) f),
       (SELECT coalesce(d.stream_replica_id, '') FROM rowrun.deployment d), pg_notification_queue_usage()
