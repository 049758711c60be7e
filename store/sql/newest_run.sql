-- newest_run
-- The newest run of a task.
-- $1 bigint: task
-- Returns: its id
SELECT id FROM rowrun.task_run WHERE task_id = $1 ORDER BY id DESC LIMIT 1
