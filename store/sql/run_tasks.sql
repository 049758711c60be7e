-- run_tasks
-- Makes a run for each of these tasks that has no unfinished one.
-- $1 bigint[]: tasks
-- Returns: how many runs were made
SELECT count(*) FROM rowrun.run_tasks($1)
