-- next_ticks
-- The moments to come of one schedule; of a fixed delay only the next, the others aren't known.
-- $1 bigint: task
-- $2 integer: how many at most
-- Returns: moments, ascending
WITH RECURSIVE k AS MATERIALIZED (
    SELECT t.schedule_parts, t.time_zone, coalesce(t.starts_at, t.created_at) AS grid, coalesce(t.ends_at, 'infinity') AS ends_at,
           coalesce(r.tick, rowrun.tick_after(t.schedule_parts, t.time_zone, greatest(clock_timestamp(), t.starts_at), coalesce(t.starts_at, t.created_at))) AS first
    FROM rowrun.task t
    LEFT JOIN rowrun.task_run r ON r.task_id = t.id AND r.tick IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
        AND coalesce(r.status, '') = 'PENDING'
    WHERE t.id = $1
), n AS (
    SELECT 1 AS i, k.first AS at FROM k
    UNION ALL
    SELECT n.i + 1, rowrun.tick_after(k.schedule_parts, k.time_zone, n.at, k.grid) FROM n, k
    WHERE n.i < $2 AND n.at <= k.ends_at AND cardinality(k.schedule_parts) <> 2
)
SELECT n.at FROM n, k WHERE n.at <= k.ends_at ORDER BY n.i
