-- run_plan
-- Makes a run for each task of a plan that has none yet.
-- $1 bigint: plan
-- Returns: the runs made, ascending
SELECT r FROM rowrun.run_plan($1) r ORDER BY r
