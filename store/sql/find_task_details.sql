-- find_task_details
-- A task with its documents and the status of its newest run.
-- $1 bigint: task
-- Returns: at most one row, by name store.TaskDetails
SELECT k.id, k.plan_id, k.name, k.type, k.queue, k.database_id, k.version, k.sequential, k.priority, k.paused,
    k.skipped, k.skip_reason, k.created_at, s.status, s.last_run_id, s.result ->> 'code' AS code,
    left(s.result ->> 'detail', 4096) AS detail,
    (extract(epoch FROM k.timeout) * 1000)::float8 AS timeout_ms,
    (extract(epoch FROM k.progress_timeout) * 1000)::float8 AS progress_timeout_ms, k.max_attempts,
    (extract(epoch FROM k.retry_delay) * 1000)::float8 AS retry_delay_ms, k.on_stale,
    (extract(epoch FROM k.retention) * 1000)::float8 AS retention_ms, k.retention_by_status, k.failure_log_level,
    (extract(epoch FROM k.aging) * 1000)::float8 AS aging_ms,
    k.schedule, k.time_zone, k.misfire, k.overlap, k.starts_at, k.ends_at, k.schedule_error,
    (extract(epoch FROM k.spread) * 1000)::float8 AS spread_ms,
    ARRAY(SELECT d.depends_on_id FROM rowrun.task_dependency d WHERE d.task_id = k.id ORDER BY 1) AS depends_on,
    ARRAY(SELECT d.task_id FROM rowrun.task_dependency d WHERE d.depends_on_id = k.id ORDER BY 1) AS needed_by,
    k.payload, k.labels
FROM rowrun.task k
CROSS JOIN LATERAL (SELECT x.status, x.last_run_id, x.result FROM rowrun.task_status x WHERE x.task_id = k.id OFFSET 0) s
WHERE k.id = $1
