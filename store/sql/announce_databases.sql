-- announce_databases
-- Says which target databases a replica reaches from now on.
-- $1 text: replica
-- $2 text[]: their names
-- $3 jsonb: the engines of those that are not PostgreSQL, by name
-- $4 jsonb: why others are set aside, by name
-- Returns: no row; nothing changes where the replica is DEAD or has said the same
UPDATE rowrun.replica_heartbeat SET databases = $2, engines = $3, set_aside = $4
WHERE replica_id = $1 AND state <> 'DEAD' AND (databases IS DISTINCT FROM $2 OR engines IS DISTINCT FROM $3 OR set_aside IS DISTINCT FROM $4)
