-- task_labels
-- What the stream tells of tasks beside their runs.
-- $1 bigint[]: tasks
-- Returns: those that are there: id, name, failure_log_level
SELECT id, name, failure_log_level FROM rowrun.task WHERE id = ANY ($1)
