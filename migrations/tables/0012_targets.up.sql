-- Targets that are not PostgreSQL.
ALTER TABLE rowrun.replica_heartbeat ADD COLUMN engines jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT replica_heartbeat_engines_an_object CHECK (jsonb_typeof(engines) = 'object'::text);
COMMENT ON COLUMN rowrun.replica_heartbeat.engines IS 'The engines of its target databases that are not PostgreSQL, by name: {"shop": "MariaDB"}.';
