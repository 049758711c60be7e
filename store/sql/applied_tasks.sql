-- applied_tasks
-- The tasks of a plan with what they were applied with.
-- $1 bigint: plan
-- Returns: id, name, type, database, version, the hash that was applied ('': by something else), status, the newest run
SELECT k.id, k.name, k.type, k.database_id, k.version, coalesce(k.labels ->> 'sha256', ''), s.status, s.last_run_id
FROM rowrun.task k
CROSS JOIN LATERAL (SELECT x.status, x.last_run_id FROM rowrun.task_status x WHERE x.task_id = k.id OFFSET 0) s
WHERE k.plan_id = $1
