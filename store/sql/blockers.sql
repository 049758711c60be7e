-- blockers
-- The sessions for whose locks some sessions wait right now.
-- $1 integer[]: the process ids of those that wait
-- Returns: up to 20 rows: process id, role, what it keeps from happening; of a prepared transaction: 0, its name, the same
SELECT b.pid::bigint, CASE WHEN b.pid = 0 THEN coalesce(p.gid, '?') ELSE coalesce(a.usename, '?') END::text,
       'holds a lock that this replica waits for' || coalesce(' (' || min(w.what) || ')', '')
FROM unnest($1::integer[]) o(pid)
CROSS JOIN LATERAL (SELECT DISTINCT x.pid FROM unnest(pg_blocking_pids(o.pid)) x(pid)) b
LEFT JOIN LATERAL (SELECT coalesce(l.relation::regclass::text, l.locktype) AS what, l.* FROM pg_locks l WHERE l.pid = o.pid AND NOT l.granted LIMIT 1) w ON true
LEFT JOIN pg_stat_activity a ON a.pid = b.pid
LEFT JOIN LATERAL (
    SELECT q.gid FROM pg_locks h
    JOIN pg_locks x ON x.pid IS NULL AND x.locktype = 'transactionid' AND x.virtualtransaction = h.virtualtransaction
    JOIN pg_prepared_xacts q ON q.transaction = x.transactionid
    WHERE b.pid = 0 AND h.pid IS NULL AND h.granted AND h.locktype = w.locktype
      AND (h.database, h.relation, h.page, h.tuple, h.transactionid, h.classid, h.objid, h.objsubid)
          IS NOT DISTINCT FROM (w.database, w.relation, w.page, w.tuple, w.transactionid, w.classid, w.objid, w.objsubid)
    ) p ON true
WHERE b.pid <> ALL ($1::integer[])
GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 20
