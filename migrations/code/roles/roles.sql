-- Roles are per server: one that exists is taken as it is, and none is ever dropped here. What they may do is granted
-- by code/grants. Repeated with them: a dump that is restored on another
-- server brings none along.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['rowrun_client', 'rowrun_author', 'rowrun_operator', 'rowrun_viewer', 'rowrun_replica', 'rowrun_worker'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = role) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; -- another database of this server was faster
            END;
        END IF;
    END LOOP;
END $$;
