-- board_task
-- A task with its documents.
-- $1 bigint: task
-- Returns: at most one row: store.BoardTaskDetails
SELECT k.id, k.plan_id, p.name, k.name, k.type, k.queue, k.database_id, k.version, k.sequential, k.priority, k.paused,
    k.skipped, k.skip_reason, k.created_at, s.status, s.last_run_id, s.result ->> 'code', left(s.result ->> 'detail', 300), k.schedule,
    (extract(epoch FROM k.timeout) * 1000)::float8, (extract(epoch FROM k.progress_timeout) * 1000)::float8, k.max_attempts,
    (extract(epoch FROM k.retry_delay) * 1000)::float8, k.on_stale, (extract(epoch FROM k.retention) * 1000)::float8,
    ARRAY(SELECT d.depends_on_id::text FROM rowrun.task_dependency d WHERE d.task_id = k.id ORDER BY d.depends_on_id LIMIT 1000),
    ARRAY(SELECT d.task_id::text FROM rowrun.task_dependency d WHERE d.depends_on_id = k.id ORDER BY d.task_id LIMIT 1000),
    k.payload, k.labels
FROM rowrun.task k LEFT JOIN rowrun.plan p ON p.id = k.plan_id
CROSS JOIN LATERAL (SELECT x.status, x.last_run_id, x.result FROM rowrun.task_status x WHERE x.task_id = k.id OFFSET 0) s
WHERE k.id = $1
