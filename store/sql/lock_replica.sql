-- lock_replica
-- Locks the row of a replica, unless somebody holds it.
-- $1 text: replica
-- Returns: its id
SELECT replica_id FROM rowrun.replica_heartbeat WHERE replica_id = $1 FOR UPDATE SKIP LOCKED
