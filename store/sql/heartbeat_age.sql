-- heartbeat_age
-- How long ago a replica's row was renewed, by the database's clock.
-- $1 text: replica
-- Returns: seconds; NULL: there is no live row
SELECT extract(epoch FROM clock_timestamp() - last_heartbeat)::float8
FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state <> 'DEAD'
UNION ALL SELECT NULL LIMIT 1
