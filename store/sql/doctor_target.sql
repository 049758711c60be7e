-- doctor_target
-- What the role that asks may do on the server; asked on a target database.
-- $1 text: when the server of Rowrun's database started, as text
-- $2 text[]: roles of Rowrun's, the gravest first
-- Returns: role, whether the target is on that server, whether the role is mighty, which of these roles it is or may take
--   ('': none)
SELECT current_user::text, pg_postmaster_start_time()::text = $1,
       r.rolsuper OR r.rolcreaterole
       -- PostgreSQL's own roles that lead to files, programs or everybody's rows.
       OR EXISTS (SELECT FROM pg_roles m
                  WHERE m.rolname = ANY ('{pg_execute_server_program,pg_read_server_files,pg_write_server_files,pg_write_all_data}'::name[])
                    AND pg_has_role(current_user, m.oid, 'MEMBER')),
       coalesce((SELECT m.rolname::text FROM pg_roles m WHERE m.rolname = ANY ($2::text[]) AND pg_has_role(current_user, m.oid, 'MEMBER')
                 ORDER BY array_position($2::text[], m.rolname::text) LIMIT 1), '')
FROM pg_roles r WHERE r.rolname = current_user
