-- heartbeat
-- Renews a replica's lease, and vouches for all its runs.
-- $1 text: replica
-- $2 integer: how many runs it executes
-- Returns: no row where it was declared dead; otherwise whether the database is a copy of another deployment's, and whether an
-- operator has asked it to drain
UPDATE rowrun.replica_heartbeat SET last_heartbeat = clock_timestamp(), running = $2
WHERE replica_id = $1 AND state <> 'DEAD' RETURNING rowrun.deployment_elsewhere(), drain_requested_at IS NOT NULL
