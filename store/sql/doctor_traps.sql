-- doctor_traps
-- Row security on our tables that holds for who asks, sessions in which triggers don't fire, and limits on connections of
-- who asks.
-- Returns: kind, object, how many connections may be open, how many are
SELECT 'row_security', c.oid::regclass::text, 0::bigint, 0::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'rowrun' AND c.relkind = 'r' AND c.relrowsecurity AND row_security_active(c.oid)
UNION ALL
SELECT 'replication_role', concat_ws(' in ', 'role ' || quote_ident(r.rolname), 'database ' || quote_ident(d.datname)), 0, 0
FROM pg_db_role_setting x LEFT JOIN pg_roles r ON r.oid = x.setrole LEFT JOIN pg_database d ON d.oid = x.setdatabase
WHERE x.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
  AND 'session_replication_role=replica' = ANY (x.setconfig)
UNION ALL
SELECT 'replication_role', 'server', 0, 0 FROM pg_settings p
WHERE p.name = 'session_replication_role' AND p.reset_val = 'replica' AND p.source IN ('configuration file', 'command line', 'environment variable')
UNION ALL
SELECT 'connections', 'role ' || quote_ident(r.rolname), r.rolconnlimit,
       (SELECT count(*) FROM pg_stat_activity a WHERE a.usesysid = r.oid AND a.pid <> pg_backend_pid())
FROM pg_roles r WHERE r.rolname = session_user AND r.rolconnlimit >= 0 AND NOT r.rolsuper
UNION ALL
SELECT 'connections', 'database ' || quote_ident(d.datname), d.datconnlimit,
       (SELECT count(*) FROM pg_stat_activity a WHERE a.datid = d.oid AND a.backend_type = 'client backend' AND a.pid <> pg_backend_pid())
FROM pg_database d WHERE d.datname = current_database() AND d.datconnlimit >= 0
ORDER BY 1, 2
