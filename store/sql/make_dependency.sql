-- make_dependency
-- $1 bigint: the task that waits
-- $2 bigint: the task that it waits for
-- Returns: no row
INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES ($1, $2)
