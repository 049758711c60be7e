-- A replica that came, came back after its lease had run out, or serves something new, or more at once. Half of the lease is enough: a heartbeat in
-- time may be committed when the lease is over, and who was judged in between waits for a replica. The same of a task that names another command.
CREATE OR REPLACE FUNCTION rowrun.mark_waiting_for_replicas() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind) VALUES ('NO_REPLICA');
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.mark_waiting_for_replicas() IS 'Trigger: what waits for a replica is looked at, as one came or serves something new or more at once, or a task names another command.';
CREATE OR REPLACE TRIGGER replica_came AFTER INSERT ON rowrun.replica_heartbeat
    FOR EACH ROW EXECUTE FUNCTION rowrun.mark_waiting_for_replicas();
CREATE OR REPLACE TRIGGER replica_changed AFTER UPDATE ON rowrun.replica_heartbeat FOR EACH ROW
    WHEN (NEW.state = 'ACTIVE'
          AND (OLD.last_heartbeat + OLD.lease / 2 < clock_timestamp()
               OR NEW.state IS DISTINCT FROM OLD.state OR NEW.queues IS DISTINCT FROM OLD.queues OR NEW.types IS DISTINCT FROM OLD.types
               OR NEW.databases IS DISTINCT FROM OLD.databases OR NEW.commands IS DISTINCT FROM OLD.commands
               OR NEW.concurrency > OLD.concurrency))
    EXECUTE FUNCTION rowrun.mark_waiting_for_replicas();
CREATE OR REPLACE TRIGGER task_command_changed AFTER UPDATE OF payload ON rowrun.task FOR EACH ROW
    WHEN ((NEW.payload -> 'command') IS DISTINCT FROM (OLD.payload -> 'command'))
    EXECUTE FUNCTION rowrun.mark_waiting_for_replicas();
