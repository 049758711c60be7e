-- board_queues
-- The queues of which runs are AVAILABLE: from one to the next along the index, up to 50 queues and 1,000 runs of each.
-- Returns: queue, runs, for how many seconds the oldest of these has been AVAILABLE
WITH RECURSIVE q AS (
    (SELECT r.queue, 1 AS n FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' ORDER BY r.queue LIMIT 1)
    UNION ALL
    SELECT (SELECT r.queue FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' AND r.queue > q.queue ORDER BY r.queue LIMIT 1), q.n + 1
    FROM q WHERE q.queue IS NOT NULL AND q.n < 50
)
SELECT q.queue, c.n, c.oldest FROM q CROSS JOIN LATERAL (
    SELECT count(*) AS n, greatest(coalesce(extract(epoch FROM CASE WHEN isfinite(min(a.available_at)) THEN clock_timestamp() - min(a.available_at) END), 0), 0)::float8 AS oldest
    FROM (SELECT r.available_at FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' AND r.queue = q.queue LIMIT 1000) a) c
WHERE q.queue IS NOT NULL ORDER BY q.queue
