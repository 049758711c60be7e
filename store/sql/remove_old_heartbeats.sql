-- remove_old_heartbeats
-- Removes the rows of replicas that were not heard of for long and are not alive by their own lease.
-- $1 float8: for how many seconds
-- Returns: no row; it changes as many as are removed
DELETE FROM rowrun.replica_heartbeat
WHERE last_heartbeat < clock_timestamp() - greatest(lease, make_interval(secs => $1))
  AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.replica_id = replica_heartbeat.replica_id AND r.status = 'RUNNING')
