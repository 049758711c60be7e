-- run_now
-- Inserts a run of a task beside its schedule.
-- $1 bigint: task
-- Returns: the run
SELECT rowrun.run_task($1::bigint)
