-- plan_tasks
-- The tasks of a plan by version, those without one first, and by id. It is planned for its parameters.
-- $1 bigint: plan
-- $2 bigint: how many at most
-- Returns: rows by name store.PlanTask
SELECT k.id, k.plan_id, k.name, k.type, k.queue, k.database_id, k.version, k.sequential, k.priority, k.paused,
    k.skipped, k.skip_reason, k.created_at, s.status, s.last_run_id, s.result ->> 'code' AS code,
    left(s.result ->> 'detail', 4096) AS detail,
    ARRAY(SELECT d.depends_on_id FROM rowrun.task_dependency d WHERE d.task_id = k.id ORDER BY 1) AS depends_on
FROM rowrun.task k
CROSS JOIN LATERAL (SELECT x.status, x.last_run_id, x.result FROM rowrun.task_status x WHERE x.task_id = k.id OFFSET 0) s
WHERE k.plan_id = $1
ORDER BY k.version_key NULLS FIRST, k.id LIMIT $2
