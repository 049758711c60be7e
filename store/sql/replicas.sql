-- replicas
-- The replicas and workers whose row is there, the oldest first.
-- Returns: up to 1,000 rows: store.ReplicaSeen
SELECT replica_id, name, version, state, live, paused_at IS NOT NULL, running, last_heartbeat, worker, role
FROM rowrun.replica_status ORDER BY started_at, replica_id LIMIT 1000
