-- Which server and database this is. A copy by dump, by template or by pg_upgrade brings along where its origin stood.
CREATE OR REPLACE FUNCTION rowrun.server_identity(OUT system_identifier bigint, OUT database_oid bigint, OUT timeline integer)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    SELECT d.oid::bigint INTO database_oid FROM pg_catalog.pg_database d WHERE d.datname = current_database();
    SELECT s.system_identifier INTO system_identifier FROM pg_catalog.pg_control_system() s;
    SELECT c.timeline_id INTO timeline FROM pg_catalog.pg_control_checkpoint() c;
EXCEPTION WHEN insufficient_privilege THEN
    NULL; -- somebody took that right from PUBLIC: what can't be known isn't compared
END $$;
COMMENT ON FUNCTION rowrun.server_identity() IS 'Where this database stands; NULL: the role may not know.';

-- Every heartbeat asks this: one statement that is planned once per session, and nothing of server_identity that isn't compared.
CREATE OR REPLACE FUNCTION rowrun.stands_elsewhere() RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RETURN coalesce((SELECT d.database_oid <> b.oid::bigint OR d.system_identifier <> s.system_identifier
                     FROM rowrun.deployment d, pg_catalog.pg_database b, pg_catalog.pg_control_system() s WHERE b.datname = current_database()), false);
EXCEPTION WHEN insufficient_privilege THEN
    RETURN coalesce((SELECT d.database_oid <> b.oid::bigint FROM rowrun.deployment d, pg_catalog.pg_database b WHERE b.datname = current_database()), false);
END $$;
COMMENT ON FUNCTION rowrun.stands_elsewhere() IS 'Internal: deployment_elsewhere.';

-- In the language of the first release: a statement that is under way has looked that up, and would read the new text in it. Inlined.
CREATE OR REPLACE FUNCTION rowrun.deployment_elsewhere() RETURNS boolean LANGUAGE sql STABLE RETURN rowrun.stands_elsewhere();
COMMENT ON FUNCTION rowrun.deployment_elsewhere() IS 'Whether the deployment belongs to another server or database, of which this one is a copy.';

CREATE OR REPLACE FUNCTION rowrun.renew_deployment(copy boolean) RETURNS uuid
    LANGUAGE sql SET search_path = pg_catalog, rowrun, pg_temp AS $$
    UPDATE rowrun.deployment d
    SET id = CASE WHEN renew_deployment.copy THEN gen_random_uuid() ELSE d.id END,
        stream_replica_id = CASE WHEN renew_deployment.copy THEN NULL ELSE d.stream_replica_id END,
        system_identifier = s.system_identifier, database_oid = s.database_oid, timeline = s.timeline
    FROM rowrun.server_identity() s RETURNING d.id $$;
COMMENT ON FUNCTION rowrun.renew_deployment(boolean) IS 'Internal: the deployment belongs here from now on; with copy it is another one than its origin.';
