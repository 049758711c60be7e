-- delete_plan
-- Removes a plan with its tasks and runs. RR006 while a run of it is AVAILABLE or RUNNING, P0002 where there is none.
-- $1 bigint: plan
-- Returns: nothing of use
SELECT rowrun.delete_plan($1)
