-- doctor_stream
-- What the stream's writer may wait for: the oldest transaction of the server that has written, which no replication slot can be
-- made before.
-- A slot that is being made is one already, which is read by who makes it, but has no place yet.
-- Returns: no row where nobody writes the stream, or its writer reads: the log, or rows, as the last position says. Otherwise one:
--   whether there is a slot, and of the transaction what it is in ('session', 'prepared'; '': there is none), its name, whose it is,
--   its database
SELECT EXISTS (SELECT FROM pg_catalog.pg_replication_slots r WHERE r.slot_name = d.slot AND r.confirmed_flush_lsn IS NOT NULL),
       coalesce(h.kind, ''), coalesce(h.name, ''), coalesce(h.who, ''), coalesce(h.place, '')
FROM (SELECT 'rowrun_stream_' || left(id::text, 8) AS slot FROM rowrun.deployment) d
LEFT JOIN LATERAL (
    SELECT w.kind, w.name, w.who, w.place FROM (
        SELECT 'session' AS kind, a.pid::text AS name, coalesce(nullif(a.application_name, ''), 'a session') || ' of ' || coalesce(a.usename, '?') AS who,
               a.datname::text AS place, age(a.backend_xid) AS past
        FROM pg_catalog.pg_stat_activity a WHERE a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
        UNION ALL
        SELECT 'prepared', p.gid, 'a prepared transaction of ' || p.owner, p.database::text, age(p.transaction) FROM pg_catalog.pg_prepared_xacts p
    ) w ORDER BY w.past DESC LIMIT 1
) h ON true
WHERE EXISTS (SELECT FROM pg_catalog.pg_locks l WHERE l.locktype = 'advisory' AND l.classid = 1920298607 AND l.objid = 2 AND l.objsubid = 2 AND l.granted
              AND l.database = (SELECT b.oid FROM pg_catalog.pg_database b WHERE b.datname = current_database()))
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_replication_slots r WHERE r.slot_name = d.slot AND r.active AND r.confirmed_flush_lsn IS NOT NULL)
  AND NOT EXISTS (SELECT FROM (SELECT p.lsn FROM rowrun.stream_position p ORDER BY p.second DESC LIMIT 1) last WHERE last.lsn IS NULL)
