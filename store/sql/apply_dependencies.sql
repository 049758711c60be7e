-- apply_dependencies
-- Makes dependencies that are missing.
-- $1 bigint[]: tasks that wait
-- $2 bigint[]: the task that each of them waits for
-- Returns: no row
INSERT INTO rowrun.task_dependency (task_id, depends_on_id)
SELECT d.task_id, d.depends_on_id FROM unnest($1::bigint[], $2::bigint[]) d (task_id, depends_on_id)
ON CONFLICT DO NOTHING
