-- record_stalled
-- Has the stream say that runs reported no progress in time.
-- $1 bigint[]: runs
-- Returns: no row
INSERT INTO rowrun.stream_note (event, message, detail)
SELECT 'task_run.stalled', 'task run stalled', jsonb_build_object('run_id', r.id, 'root_id', r.root_id, 'task_id', r.task_id, 'task', k.name,
    'type', r.type, 'plan_id', r.plan_id, 'attempt', r.attempt, 'replica_id', r.replica_id, 'progress_at', r.progress_at,
    'silent_ms', greatest((extract(epoch FROM clock_timestamp() - coalesce(r.progress_at, r.started_at)) * 1000)::bigint, 0))
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
WHERE r.id = ANY ($1::bigint[])
