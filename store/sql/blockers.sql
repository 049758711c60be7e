-- blockers
-- The sessions for whose locks some sessions wait right now.
-- $1 integer[]: the process ids of those that wait
-- Returns: up to 20 rows: process id, role, what it keeps from happening
SELECT b.pid::bigint, coalesce(a.usename, '?')::text,
       'holds a lock that this replica waits for' || coalesce(' (' || min(w.what) || ')', '')
FROM unnest($1::integer[]) o(pid)
CROSS JOIN LATERAL unnest(pg_blocking_pids(o.pid)) b(pid)
LEFT JOIN LATERAL (SELECT coalesce(l.relation::regclass::text, l.locktype) AS what FROM pg_locks l WHERE l.pid = o.pid AND NOT l.granted LIMIT 1) w ON true
LEFT JOIN pg_stat_activity a ON a.pid = b.pid
WHERE b.pid <> ALL ($1::integer[]) AND b.pid <> 0
GROUP BY 1, 2 ORDER BY 1 LIMIT 20
