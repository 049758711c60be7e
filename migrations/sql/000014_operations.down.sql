DO $$
DECLARE
    t record;
BEGIN
    FOR t IN
        SELECT c.conrelid::regclass AS name, c.conname FROM pg_catalog.pg_constraint c
        WHERE c.connamespace = 'rowrun'::regnamespace AND c.contype = 'c' AND c.conname LIKE '%\_in\_utf8'
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', t.name, t.conname);
    END LOOP;
END $$;
DROP TABLE rowrun.schema_object;
DROP FUNCTION rowrun.renew_deployment(boolean), rowrun.deployment_elsewhere();
ALTER TABLE rowrun.deployment DROP COLUMN system_identifier, DROP COLUMN database_oid, DROP COLUMN timeline;
DROP FUNCTION rowrun.server_identity();
DROP FUNCTION rowrun.resume_replica(text), rowrun.pause_replica(text), rowrun.set_replica_paused(text, boolean);
DROP VIEW rowrun.replica_status;
ALTER TABLE rowrun.replica_heartbeat DROP COLUMN paused_at;
CREATE VIEW rowrun.replica_status WITH (security_invoker = true) AS
SELECT h.replica_id, h.name, h.hostname, h.version, h.state, h.started_at, h.last_heartbeat, h.lease,
       h.state <> 'DEAD' AND h.last_heartbeat + h.lease > clock_timestamp() AS live,
       h.queues, h.types, h.databases, h.commands, h.concurrency,
       (SELECT count(*) FROM rowrun.task_run r WHERE r.replica_id = h.replica_id AND r.status = 'RUNNING') AS running,
       h.replica_id = (SELECT d.stream_replica_id FROM rowrun.deployment d) AS stream,
       h.wake_source
FROM rowrun.replica_heartbeat h;
COMMENT ON VIEW rowrun.replica_status IS 'The replicas, whether they are alive and what they run.';
GRANT SELECT ON rowrun.replica_status TO rowrun_client, rowrun_viewer, rowrun_replica;
DROP TRIGGER task_author_operations ON rowrun.task;
DROP TRIGGER task_operations_fill ON rowrun.task;
DROP FUNCTION rowrun.task_operations_fill();
ALTER TABLE rowrun.task DROP COLUMN failure_log_level;
DROP INDEX rowrun.task_run_own_retention, rowrun.task_retention;
DELETE FROM rowrun.migration WHERE version = 14;
