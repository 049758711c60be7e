-- Replicas that claim nothing.
ALTER TABLE rowrun.replica_heartbeat ADD COLUMN role text NOT NULL DEFAULT 'worker'
    CONSTRAINT replica_heartbeat_role_worker_or_admin CHECK (role IN ('worker', 'admin'));
COMMENT ON COLUMN rowrun.replica_heartbeat.role IS 'worker: it claims runs; admin: it never does, and only looks after the deployment.';
