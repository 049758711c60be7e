-- board_failed_runs
-- Runs that failed for good, the last to fail first. It is planned for its parameters.
-- $1 text: filter, as rowrun.run_matches takes it
-- $2 bigint: the end of the run behind which to go on, in microseconds since 1970; NULL: from the first
-- $3 bigint: that run
-- $4 bigint: how many at most
-- $5 bigint: how many to look at
-- Returns: store.BoardRun
SELECT r.id, r.root_id, r.attempt, r.retry_of, r.retry_run_id, r.task_id, k.name, r.type, r.plan_id, p.name, r.queue, r.database_id,
    r.version, r.status, r.priority, r.run_at, r.created_at, r.available_at, r.started_at, r.finished_at, r.replica_id,
    r.result ->> 'code', left(r.result ->> 'detail', 300), CASE WHEN pg_column_size(r.progress) < 4000 THEN r.progress END,
    r.cancel_requested_at IS NOT NULL,
    CASE WHEN r.status = 'PENDING' THEN coalesce(r.cause, CASE WHEN r.run_at > now() THEN 'RUN_AT' END) END
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id LEFT JOIN rowrun.plan p ON p.id = r.plan_id
WHERE r.id = ANY (ARRAY(
    SELECT x.id FROM (
        SELECT f.id, f.status, f.type, f.queue, f.database_id, f.plan_id, f.task_id, f.retry_run_id, f.created_at, f.result, f.finished_at
        FROM rowrun.task_run f
        WHERE f.status = 'FAILED' AND f.retry_run_id IS NULL
          AND ($2::bigint IS NULL OR f.finished_at <= '1970-01-01 00:00+00'::timestamptz + $2 * interval '1 microsecond'
               AND (f.finished_at, f.id) < ('1970-01-01 00:00+00'::timestamptz + $2 * interval '1 microsecond', $3::bigint))
        ORDER BY f.finished_at DESC, f.id DESC LIMIT $5) x
    WHERE rowrun.run_matches($1::text::jsonb, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result)
    ORDER BY x.finished_at DESC, x.id DESC LIMIT $4))
ORDER BY r.finished_at DESC, r.id DESC
