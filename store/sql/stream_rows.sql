-- stream_rows
-- What the stream tells of runs.
-- $1 bigint[]: runs
-- Returns: those that are there, in no order: store.StreamRow; behind it the first transaction id that was not given yet
SELECT r.id, r.root_id, r.task_id, k.name, r.type, r.queue, r.plan_id, r.database_id, r.version, r.attempt, r.retry_of,
       r.created_at, r.run_at, r.available_at, r.started_at, r.finished_at,
       CASE WHEN r.status IN ('FAILED', 'CANCELED') THEN r.result ->> 'code' END,
       CASE WHEN r.status IN ('FAILED', 'CANCELED') THEN left(r.result ->> 'detail', 4096) END,
       r.retry_run_id, k.failure_log_level, r.status, r.replica_id, coalesce(r.prev_status, ''), r.xmin::text::bigint,
       (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
WHERE r.id = ANY ($1)
