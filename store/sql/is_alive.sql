-- is_alive
-- $1 text: replica
-- Returns: whether it has a row and isn't declared dead
SELECT EXISTS (SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state <> 'DEAD')
