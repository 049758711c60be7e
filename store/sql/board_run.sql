-- board_run
-- A run with its documents, and with what its gates ask.
-- $1 bigint: run
-- Returns: at most one row: store.BoardRunDetails
SELECT r.id, r.root_id, r.attempt, r.retry_of, r.retry_run_id, r.task_id, k.name, r.type, r.plan_id, p.name, r.queue, r.database_id,
    r.version, r.status, r.priority, r.run_at, r.created_at, r.available_at, r.started_at, r.finished_at, r.replica_id,
    r.result ->> 'code', left(r.result ->> 'detail', 300), r.progress,
    r.cancel_requested_at IS NOT NULL,
    CASE WHEN r.status = 'PENDING' THEN coalesce(r.cause, CASE WHEN r.run_at > now() THEN 'RUN_AT' END) END,
    r.idempotency_key, r.creator, r.deadline, r.cancel_requested_at, r.cancel_reason, r.progress_at, k.payload, r.input, r.result,
    r.sequential, k.paused, k.skipped, p.paused, p.parallel_limit, p.on_failure,
    (SELECT count(*)::integer FROM rowrun.task_dependency d WHERE d.task_id = r.task_id), coalesce(cardinality(r.after), 0),
    r.plan_id IS NULL OR r.id = (SELECT s.last_run_id FROM rowrun.task_status s WHERE s.task_id = r.task_id),
    r.result ->> 'detail', coalesce(l.names, '{}'), coalesce(r.after, '{}')::text[]
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id LEFT JOIN rowrun.plan p ON p.id = r.plan_id
LEFT JOIN LATERAL (SELECT array_agg(c.name ORDER BY c.id) AS names FROM unnest(r.limit_keys) u(limit_key)
                   JOIN rowrun.concurrency_limit c ON c.id = rowrun.limit_id_of(u.limit_key)) l ON true
WHERE r.id = $1
