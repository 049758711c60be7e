CREATE OR REPLACE FUNCTION rowrun.replica_heartbeat_fill() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    NEW.name := coalesce(NEW.name, '');
    NEW.hostname := coalesce(NEW.hostname, '');
    NEW.version := coalesce(NEW.version, '');
    NEW.started_at := coalesce(NEW.started_at, now());
    NEW.state := coalesce(NEW.state, 'ACTIVE');
    NEW.lease := coalesce(NEW.lease, '60 s');
    NEW.queues := coalesce(NEW.queues, '{default}');
    NEW.types := coalesce(NEW.types, '{}');
    NEW.databases := coalesce(NEW.databases, '{}');
    NEW.commands := coalesce(NEW.commands, '{}');
    NEW.concurrency := coalesce(NEW.concurrency, 0);
    NEW.running := coalesce(NEW.running, 0);
    NEW.role := coalesce(NEW.role, 'worker');
    NEW.type_concurrency := coalesce(NEW.type_concurrency, '{}');
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.replica_heartbeat_fill() IS 'Trigger: NULLs get their defaults.';
CREATE OR REPLACE TRIGGER replica_heartbeat_fill BEFORE INSERT ON rowrun.replica_heartbeat
    FOR EACH ROW EXECUTE FUNCTION rowrun.replica_heartbeat_fill();
