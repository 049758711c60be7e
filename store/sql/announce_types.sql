-- announce_types
-- Says which types a replica runs from now on.
-- $1 text: replica
-- $2 text[]: its types
-- Returns: no row; nothing changes where the replica is DEAD or has said the same
UPDATE rowrun.replica_heartbeat SET types = $2 WHERE replica_id = $1 AND state <> 'DEAD' AND types IS DISTINCT FROM $2
