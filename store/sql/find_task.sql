-- find_task
-- The task of an id, for filters.
-- $1 bigint: task
-- Returns: its id, and whether it belongs to a plan
SELECT id, plan_id IS NOT NULL FROM rowrun.task WHERE id = $1
