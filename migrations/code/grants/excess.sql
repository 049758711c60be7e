-- The default privileges of whoever migrates may have given others more than stands above. Who may attach a trigger or a
-- foreign key to these tables, or add a function to this schema, has code of his own run as the sidecar. So nobody but the
-- owner may; nobody besides our roles holds table-wide UPDATE and DELETE, writes to a table that no role of users writes to, moves
-- a sequence, reads where messages go, or calls what is internal or runs with its owner's rights: attached to a table of his own, a trigger
-- function of the latter kind would compute with his types. SELECT, INSERT and rights on columns that somebody was given stay otherwise.
DO $$
DECLARE
    excess record;
BEGIN
    FOR excess IN
        WITH ours AS (
            SELECT array_agg(r.oid) AS roles FROM pg_catalog.pg_roles r
            WHERE r.rolname IN ('rowrun_client', 'rowrun_author', 'rowrun_operator', 'rowrun_viewer', 'rowrun_worker', 'rowrun_replica')
        ), held AS (
            SELECT 'TABLE ' || c.oid::regclass AS object, c.relowner AS owner, a.grantee, a.privilege_type,
                   a.privilege_type = 'INSERT' AND c.relname NOT IN ('plan', 'task', 'task_dependency', 'task_run')
                   OR a.privilege_type = 'SELECT' AND c.relname = 'webhook' AS internal
            FROM pg_catalog.pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
            WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
            UNION ALL
            SELECT 'SEQUENCE ' || c.oid::regclass, c.relowner, a.grantee, a.privilege_type, false
            FROM pg_catalog.pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
            WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind = 'S'
            UNION ALL
            SELECT 'SCHEMA rowrun', n.nspowner, a.grantee, a.privilege_type, false
            FROM pg_catalog.pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a WHERE n.nspname = 'rowrun'
            UNION ALL
            SELECT 'FUNCTION ' || f.oid::regprocedure, f.proowner, a.grantee, 'EXECUTE', true
            FROM pg_catalog.pg_proc f CROSS JOIN LATERAL aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
            WHERE f.pronamespace = 'rowrun'::regnamespace AND (f.prosecdef OR NOT has_function_privilege('rowrun_operator', f.oid, 'EXECUTE'))
            UNION ALL
            SELECT 'TABLE ' || t.attrelid::regclass, c.relowner, a.grantee, 'REFERENCES', false
            FROM pg_catalog.pg_attribute t JOIN pg_catalog.pg_class c ON c.oid = t.attrelid CROSS JOIN LATERAL aclexplode(t.attacl) a
            WHERE c.relnamespace = 'rowrun'::regnamespace AND a.privilege_type = 'REFERENCES'
        )
        SELECT DISTINCT format('REVOKE %s ON %s FROM %s CASCADE', h.privilege_type, h.object, CASE h.grantee WHEN 0 THEN 'PUBLIC' ELSE h.grantee::regrole::text END) AS revoke
        FROM held h CROSS JOIN ours
        WHERE h.grantee <> h.owner
          AND (h.privilege_type IN ('TRIGGER', 'REFERENCES', 'TRUNCATE', 'CREATE')
               OR ((h.internal OR h.privilege_type IN ('UPDATE', 'DELETE')) AND h.grantee <> ALL (ours.roles)))
    LOOP
        EXECUTE excess.revoke;
    END LOOP;
END $$;
