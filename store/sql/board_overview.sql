-- board_overview
-- How the deployment stands. Counting ends at 10,000.
-- Returns: now, RUNNING runs, runs that failed for good in the last day, replicas whose lease ran out and that aren't DEAD yet,
-- deliveries among the 10,000 that are due first that were tried in vain
SELECT clock_timestamp(),
    (SELECT count(*) FROM (SELECT FROM rowrun.task_run r WHERE r.status = 'RUNNING' LIMIT 10000) x),
    (SELECT count(*) FROM (SELECT FROM rowrun.task_run f WHERE f.status = 'FAILED' AND f.retry_run_id IS NULL
        AND f.finished_at > now() - interval '24 hours' ORDER BY f.finished_at DESC LIMIT 10000) x),
    (SELECT count(*)::integer FROM rowrun.replica_heartbeat h WHERE h.state <> 'DEAD' AND h.last_heartbeat + h.lease <= clock_timestamp()),
    (SELECT count(*) FROM (SELECT d.attempts FROM rowrun.webhook_delivery d WHERE d.status = 'PENDING' ORDER BY d.next_attempt_at LIMIT 10000) x WHERE x.attempts > 0)
