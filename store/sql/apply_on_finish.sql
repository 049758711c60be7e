-- apply_on_finish
-- Says what a plan ends with.
-- $1 bigint: plan
-- $2 text: name or id of a task without a plan
-- Returns: no row
UPDATE rowrun.plan SET on_finish_task = $2 WHERE id = $1 AND on_finish_task IS DISTINCT FROM $2
