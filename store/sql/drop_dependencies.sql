-- drop_dependencies
-- Deletes the dependencies of these tasks that are wanted no more.
-- $1 bigint[]: tasks
-- $2 bigint[]: tasks that wait
-- $3 bigint[]: the task that each of them is to wait for
-- Returns: how many were deleted
SELECT count(rowrun.delete_dependency(d.task_id, d.depends_on_id))
FROM rowrun.task_dependency d
WHERE d.task_id = ANY ($1)
  AND NOT EXISTS (SELECT FROM unnest($2::bigint[], $3::bigint[]) u (task_id, depends_on_id) WHERE (u.task_id, u.depends_on_id) = (d.task_id, d.depends_on_id))
