-- watch_runs
-- How runs that a replica executes stand.
-- $1 text: replica
-- $2 bigint[]: runs
-- Returns: those that are there: id, whether it is lost to the replica, the hash of the claim under which it is RUNNING, whether a
--   cancel was asked for, seconds since its start or progress
SELECT id, status <> 'RUNNING' OR replica_id IS DISTINCT FROM $1, claim_hash, cancel_requested_at IS NOT NULL,
       extract(epoch FROM clock_timestamp() - coalesce(progress_at, started_at))::float8
FROM rowrun.task_run WHERE id = ANY ($2)
