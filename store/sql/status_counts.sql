-- status_counts
-- How many runs have not ended, by status, and how the deployment stands. It reads no run that ended before the last day.
-- $1 bigint: where counting PENDING and AVAILABLE ends
-- Returns: PENDING, AVAILABLE, RUNNING, FAILED for good in the last day (up to 10,000), who writes the stream ('': nobody),
--   the notification queue (0 to 1)
SELECT (SELECT count(*) FROM (SELECT FROM rowrun.pending_runs() LIMIT $1) p),
       (SELECT count(*) FROM (SELECT FROM rowrun.task_run a WHERE a.status = 'AVAILABLE' LIMIT $1) a),
       (SELECT count(*) FROM rowrun.task_run w WHERE w.status = 'RUNNING'),
       (SELECT count(*) FROM (SELECT FROM rowrun.task_run f
                              WHERE f.status = 'FAILED' AND f.retry_run_id IS NULL AND f.finished_at > now() - interval '24 hours'
                              ORDER BY f.finished_at DESC LIMIT 10000) f),
       (SELECT coalesce(d.stream_replica_id, '') FROM rowrun.deployment d), pg_notification_queue_usage()
