-- board_tasks
-- Tasks of a page.
-- $1 bigint[]: tasks
-- Returns: store.BoardTask, in any order
SELECT k.id, k.plan_id, p.name, k.name, k.type, k.queue, k.database_id, k.version, k.sequential, k.priority, k.paused,
    k.skipped, k.skip_reason, k.created_at, s.status, s.last_run_id, s.result ->> 'code', left(s.result ->> 'detail', 300), k.schedule
FROM rowrun.task k LEFT JOIN rowrun.plan p ON p.id = k.plan_id
CROSS JOIN LATERAL (SELECT x.status, x.last_run_id, x.result FROM rowrun.task_status x WHERE x.task_id = k.id OFFSET 0) s
WHERE k.id = ANY ($1)
