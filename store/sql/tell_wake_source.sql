-- tell_wake_source
-- Records how a replica is woken.
-- $1 text: replica
-- $2 text: wal, notify or poll
-- Returns: no row
UPDATE rowrun.replica_heartbeat SET wake_source = $2 WHERE replica_id = $1 AND wake_source IS DISTINCT FROM $2
