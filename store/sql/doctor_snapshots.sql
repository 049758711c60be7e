-- doctor_snapshots
-- Who holds the oldest snapshots, which keep dead rows from being removed; not the session that asks.
-- Returns: five rows, the oldest first: kind, name, who, for how many seconds (NULL: unknown), how many transactions have
--   begun since
SELECT kind, name, who, seconds, transactions FROM (
    SELECT 'session' AS kind, a.pid::text AS name, coalesce(nullif(a.application_name, ''), 'a session') || ' of ' || coalesce(a.usename, '?') AS who,
           extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS seconds,
           greatest(age(a.backend_xmin), age(a.backend_xid))::bigint AS transactions
    FROM pg_stat_activity a
    WHERE coalesce(a.backend_xmin, a.backend_xid) IS NOT NULL AND a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
      AND (a.datname = current_database() OR a.backend_type = 'walsender')
    UNION ALL
    SELECT 'prepared', p.gid, 'a prepared transaction of ' || p.owner, extract(epoch FROM clock_timestamp() - p.prepared)::float8, age(p.transaction)::bigint
    FROM pg_prepared_xacts p WHERE p.database = current_database()
    UNION ALL
    SELECT 'slot', r.slot_name, coalesce('read by ' || coalesce(nullif(a.application_name, ''), 'a session') || ' of ' || a.usename || ', pid ' || r.active_pid, 'read by nobody')
               || coalesce(', of database ' || r.database, ''),
           NULL, greatest(age(r.xmin), age(r.catalog_xmin))::bigint
    FROM pg_replication_slots r LEFT JOIN pg_stat_activity a ON a.pid = r.active_pid
    WHERE coalesce(r.xmin, r.catalog_xmin) IS NOT NULL
) h ORDER BY transactions DESC NULLS LAST, seconds DESC NULLS LAST LIMIT 5
