-- remove_old_heartbeats
-- Removes the rows of replicas that were not heard of for long and are not alive by their own lease. When the last of them that
-- claims was alive stays known.
-- $1 float8: for how many seconds
-- Returns: how many were removed
WITH gone AS (
    DELETE FROM rowrun.replica_heartbeat h
    WHERE h.last_heartbeat < clock_timestamp() - greatest(h.lease, make_interval(secs => $1))
      AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.replica_id = h.replica_id AND r.status = 'RUNNING')
    RETURNING h.last_heartbeat, h.role = 'worker' AND NOT h.worker AS claims
), free AS MATERIALIZED (
    SELECT d.singleton FROM rowrun.deployment d FOR NO KEY UPDATE SKIP LOCKED
), kept AS (
    UPDATE rowrun.deployment d SET last_alive_at = greatest(d.last_alive_at, g.at)
    FROM (SELECT max(gone.last_heartbeat) AS at FROM gone WHERE gone.claims AND isfinite(gone.last_heartbeat)) g, free f
    WHERE g.at IS NOT NULL AND d.singleton = f.singleton
)
SELECT count(*) FROM gone
