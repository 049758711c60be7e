-- find_run
-- A run with its documents.
-- $1 bigint: run
-- Returns: at most one row, by name store.RunDetails
SELECT r.id, r.root_id, r.task_id, k.name AS task_name, r.type, r.queue, r.plan_id, r.database_id, r.version,
    r.attempt, r.retry_of, r.retry_run_id, r.status, r.run_at, r.replica_id, r.created_at, r.available_at, r.started_at,
    r.finished_at, r.updated_at, r.result ->> 'code' AS code, left(r.result ->> 'detail', 4096) AS detail,
    r.priority, r.idempotency_key, r.creator, r.deadline, r.cancel_requested_at, r.cancel_reason,
    r.input, r.progress, r.progress_at, r.result
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
WHERE r.id = $1
