-- cancel_plan
-- Cancels the unfinished runs of a plan, and asks it of those that are RUNNING.
-- $1 bigint: plan
-- $2 text: reason; '': none
-- Returns: how many
SELECT rowrun.cancel_plan($1, nullif($2, ''))
