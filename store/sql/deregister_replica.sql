-- deregister_replica
-- Removes a replica's row: the last thing that it does. When it was last alive stays known, which an outage is told by.
-- $1 text: replica
-- Returns: no row
WITH gone AS (
    DELETE FROM rowrun.replica_heartbeat WHERE replica_id = $1 RETURNING last_heartbeat, role = 'worker' AND NOT worker AS claims
), free AS MATERIALIZED (
    SELECT d.singleton FROM rowrun.deployment d FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE rowrun.deployment d SET last_alive_at = greatest(d.last_alive_at, g.last_heartbeat)
FROM gone g, free f WHERE g.claims AND d.singleton = f.singleton
