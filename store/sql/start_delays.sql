-- start_delays
-- How long after their insert, or after their run_at where that is later, runs were started.
-- $1 bigint[]: runs
-- Returns: seconds, of those that were
SELECT extract(epoch FROM started_at - greatest(created_at, run_at))::float8
FROM rowrun.task_run WHERE id = ANY ($1) AND started_at IS NOT NULL
