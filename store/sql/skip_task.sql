-- skip_task
-- Makes a task count as done; its PENDING run is canceled. RR004 while a run of it is AVAILABLE or RUNNING.
-- $1 bigint: task
-- $2 text: reason; '': none
-- Returns: nothing of use
SELECT rowrun.skip_task($1, nullif($2, ''))
