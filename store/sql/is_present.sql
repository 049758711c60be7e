-- is_present
-- $1 text: replica
-- Returns: whether it has a row
SELECT EXISTS (SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1)
