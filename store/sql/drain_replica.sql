-- drain_replica
-- Says that a replica takes nothing new.
-- $1 text: replica
-- Returns: no row
UPDATE rowrun.replica_heartbeat SET last_heartbeat = clock_timestamp(), state = 'DRAINING'
WHERE replica_id = $1 AND state = 'ACTIVE'
