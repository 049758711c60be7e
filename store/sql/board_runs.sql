-- board_runs
-- Runs of a page.
-- $1 bigint[]: runs
-- Returns: store.BoardRun, in any order
SELECT r.id, r.root_id, r.attempt, r.retry_of, r.retry_run_id, r.task_id, k.name, r.type, r.plan_id, p.name, r.queue, r.database_id,
    r.version, r.status, r.priority, r.run_at, r.created_at, r.available_at, r.started_at, r.finished_at, r.replica_id,
    r.result ->> 'code', left(r.result ->> 'detail', 300), CASE WHEN pg_column_size(r.progress) < 4000 THEN r.progress END,
    r.cancel_requested_at IS NOT NULL,
    CASE WHEN r.status = 'PENDING' THEN coalesce(r.cause, CASE WHEN r.run_at > now() THEN 'RUN_AT' END) END
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id LEFT JOIN rowrun.plan p ON p.id = r.plan_id
WHERE r.id = ANY ($1)
