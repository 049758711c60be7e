-- doctor_privileges
-- What the role that asks lacks of what a sidecar needs: what rowrun_replica may do. The first few stand here by name, in
-- case that role has lost its own: a dump holds neither roles nor what was granted to them.
-- Returns: texts such as "INSERT on rowrun.task_run"
WITH replica AS (SELECT to_regrole('rowrun_replica')::oid AS role)
SELECT p.privilege || ' on ' || p.tab
FROM (VALUES
    ('rowrun.deployment', 'SELECT'), ('rowrun.migration', 'SELECT'), ('rowrun.schema_object', 'SELECT'), ('rowrun.code_version', 'SELECT'), ('rowrun.plan', 'UPDATE'), ('rowrun.task', 'UPDATE'),
    ('rowrun.task_run', 'INSERT'), ('rowrun.task_run', 'UPDATE'), ('rowrun.replica_heartbeat', 'INSERT'),
    ('rowrun.replica_heartbeat', 'UPDATE'), ('rowrun.webhook', 'SELECT'), ('rowrun.webhook_delivery', 'UPDATE')) p(tab, privilege)
WHERE to_regclass(p.tab) IS NOT NULL AND NOT has_table_privilege(to_regclass(p.tab), p.privilege)
UNION
SELECT p.privilege || ' on ' || c.oid::regclass
FROM replica, pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p(privilege)
WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('r', 'v')
  AND has_table_privilege(replica.role, c.oid, p.privilege) AND NOT has_table_privilege(c.oid, p.privilege)
UNION
SELECT p.privilege || ' on columns of ' || c.oid::regclass
FROM replica, pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) p(privilege)
WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('r', 'v')
  AND has_any_column_privilege(replica.role, c.oid, p.privilege) AND NOT has_any_column_privilege(c.oid, p.privilege)
  AND NOT has_table_privilege(replica.role, c.oid, p.privilege)
UNION
SELECT 'EXECUTE on ' || f.oid::regprocedure
FROM replica, pg_proc f
WHERE f.pronamespace = 'rowrun'::regnamespace AND has_function_privilege(replica.role, f.oid, 'EXECUTE') AND NOT has_function_privilege(f.oid, 'EXECUTE')
ORDER BY 1
