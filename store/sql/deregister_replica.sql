-- deregister_replica
-- Removes a replica's row: the last thing that it does.
-- $1 text: replica
-- Returns: no row
DELETE FROM rowrun.replica_heartbeat WHERE replica_id = $1
