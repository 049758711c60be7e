-- find_tasks_by_name
-- The tasks of a name, for filters.
-- $1 text: name
-- Returns: id, and whether it belongs to a plan
SELECT id, plan_id IS NOT NULL FROM rowrun.task WHERE name = $1
