-- unskip_task
-- Takes skip_task back.
-- $1 bigint: task
-- Returns: nothing of use
SELECT rowrun.unskip_task($1)
