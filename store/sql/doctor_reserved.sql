-- doctor_reserved
-- Queues of which every live replica keeps all of its slots for runs of at least a priority.
-- Returns: up to 100 rows: the queue, the lowest priority that starts there
SELECT q.queue, min(l.lowest)
FROM rowrun.replica_heartbeat h
CROSS JOIN LATERAL (SELECT DISTINCT u.queue FROM unnest(h.queues) u(queue)) q
CROSS JOIN LATERAL (
    SELECT CASE WHEN sum(h.reserve[2 * i]::bigint) >= h.concurrency THEN min(h.reserve[2 * i - 1]) END AS lowest
    FROM generate_series(1, cardinality(h.reserve) / 2) i) l
WHERE h.role = 'worker' AND NOT h.worker AND h.state = 'ACTIVE' AND h.last_heartbeat + h.lease > clock_timestamp()
GROUP BY q.queue HAVING bool_and(l.lowest IS NOT NULL)
ORDER BY q.queue LIMIT 100
