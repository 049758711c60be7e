-- declare_dead
-- Declares a replica dead whose lease is over.
-- $1 text: replica
-- Returns: no row
UPDATE rowrun.replica_heartbeat SET state = 'DEAD'
WHERE replica_id = $1 AND state <> 'DEAD' AND last_heartbeat + lease < clock_timestamp()
