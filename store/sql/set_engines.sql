-- set_engines
-- Says which of a replica's target databases are not PostgreSQL.
-- $1 text: replica
-- $2 jsonb: their engines by name
-- Returns: no row
UPDATE rowrun.replica_heartbeat SET engines = $2 WHERE replica_id = $1
