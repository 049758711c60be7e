-- find_definition
-- The task without a plan of a name.
-- $1 text: name
-- Returns: id, the plan it belongs to (NULL)
SELECT id, plan_id FROM rowrun.task WHERE name = $1 AND name <> '' AND plan_id IS NULL
