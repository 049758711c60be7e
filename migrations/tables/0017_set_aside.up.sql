-- Targets that a replica can not reach.
ALTER TABLE rowrun.replica_heartbeat ADD COLUMN set_aside jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT replica_heartbeat_set_aside_an_object CHECK (jsonb_typeof(set_aside) = 'object'::text);
COMMENT ON COLUMN rowrun.replica_heartbeat.set_aside IS 'Target databases that it knows and can not reach, with the reason: {"tenant_7": "connection refused"}.';
