-- dead_replicas
-- Who must be looked at: replicas whose lease has run out, and names under which runs are RUNNING though no live row vouches
-- for them. Workers are not among these: each of their claims has a lease of its own (overdue_runs).
-- $1 float8: for how many seconds the one that asks has been in unbroken contact: longer leases are not judged
-- Returns: their ids; none in a copy of another deployment
SELECT h.replica_id FROM rowrun.replica_heartbeat h
WHERE h.state <> 'DEAD' AND NOT h.worker AND h.last_heartbeat + h.lease < clock_timestamp() AND h.lease <= make_interval(secs => $1)
  AND NOT (SELECT rowrun.deployment_elsewhere())
UNION
SELECT r.replica_id FROM rowrun.task_run r
WHERE r.status = 'RUNNING' AND r.replica_id IS NOT NULL
  AND NOT EXISTS (SELECT FROM rowrun.replica_heartbeat h WHERE h.replica_id = r.replica_id AND h.state <> 'DEAD')
  AND NOT EXISTS (SELECT FROM rowrun.worker_claim c WHERE c.claim_hash = r.claim_hash)
  AND NOT (SELECT rowrun.deployment_elsewhere())
