-- is_new_task
-- Whether this transaction has made a task.
-- $1 bigint: the task
-- Returns: one row with that
SELECT k.created_at = now() FROM rowrun.task k WHERE k.id = $1
