-- find_tasks_of_plans
-- The newest tasks of plans that have a name.
-- $1 text: name
-- $2 bigint: most of them
-- Returns: id, the plan it belongs to
SELECT id, plan_id FROM rowrun.task WHERE name = $1 AND name <> '' AND plan_id IS NOT NULL ORDER BY id DESC LIMIT $2
