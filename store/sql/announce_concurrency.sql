-- announce_concurrency
-- How many runs a replica executes at once from now on.
-- $1 text: replica
-- $2 integer: how many
-- Returns: no row
UPDATE rowrun.replica_heartbeat SET concurrency = $2 WHERE replica_id = $1
