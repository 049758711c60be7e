-- stale_runs
-- $1 text: replica
-- Returns: the runs that are RUNNING under its name
SELECT r.id FROM rowrun.task_run r WHERE r.status = 'RUNNING' AND r.replica_id = $1
