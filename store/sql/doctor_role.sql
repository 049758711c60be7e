-- doctor_role
-- The rights of the role that asks beyond what a sidecar needs. A member counts as the role itself, whether or not it
-- inherits: it may SET ROLE.
-- Returns: one row, by name store.RoleFacts
SELECT c.relowner::regrole::text AS owner, pg_has_role(current_user, c.relowner, 'MEMBER') AS is_owner, r.rolsuper AS superuser,
       r.rolcreaterole AS create_role, r.rolbypassrls AS bypass_rls, pg_has_role(current_user, d.datdba, 'MEMBER') AS owns_database,
       coalesce(has_schema_privilege(to_regnamespace('public')::oid, 'CREATE'), false) AS creates_in_public,
       -- PostgreSQL's own roles that lead to files, programs or everybody's rows.
       ARRAY(SELECT m.rolname::text FROM pg_roles m
             WHERE m.rolname = ANY ('{pg_execute_server_program,pg_read_server_files,pg_write_server_files,pg_write_all_data}'::name[])
               AND pg_has_role(current_user, m.oid, 'MEMBER') ORDER BY 1) AS mighty
FROM pg_roles r, pg_class c, pg_database d
WHERE r.rolname = current_user AND c.oid = 'rowrun.task_run'::regclass AND d.datname = current_database()
