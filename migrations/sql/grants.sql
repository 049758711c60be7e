-- What the five roles may do; can be repeated at any time (rowrun migrate grants).
-- client: defines tasks of harmless types, inserts, cancels and retries. author: also SQL, DATABASE_MIGRATE and COMMAND
-- tasks. operator: also skips, pauses, limits, abandons. viewer: reads. replica: what the sidecar needs.
GRANT USAGE ON SCHEMA rowrun TO rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer, rowrun_replica;
GRANT rowrun_client TO rowrun_author;
GRANT rowrun_author TO rowrun_operator;

GRANT SELECT ON rowrun.deployment, rowrun.plan, rowrun.task, rowrun.task_dependency, rowrun.task_run, rowrun.task_run_log,
    rowrun.replica_heartbeat, rowrun.job, rowrun.task_status, rowrun.plan_status, rowrun.replica_status, rowrun.failed_run,
    rowrun.migration
    TO rowrun_client, rowrun_viewer, rowrun_replica;

GRANT INSERT, DELETE ON rowrun.plan, rowrun.task, rowrun.task_dependency TO rowrun_client;
GRANT INSERT ON rowrun.task_run TO rowrun_client;
GRANT UPDATE (name, type, queue, database_id, version, sequential, payload, priority, timeout, progress_timeout,
    max_attempts, retry_delay, on_stale, labels) ON rowrun.task TO rowrun_client;
GRANT UPDATE (name, project) ON rowrun.plan TO rowrun_client;
GRANT UPDATE (run_at, priority, input, cancel_requested_at, cancel_reason) ON rowrun.task_run TO rowrun_client;
GRANT USAGE ON SEQUENCE rowrun.plan_id_seq, rowrun.task_id_seq, rowrun.task_run_id_seq TO rowrun_client, rowrun_replica;

GRANT UPDATE (paused, skipped, skip_reason) ON rowrun.task TO rowrun_operator;
GRANT UPDATE (paused, parallel_limit, on_failure) ON rowrun.plan TO rowrun_operator;

GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.task_run, rowrun.replica_heartbeat, rowrun.gate_mark, rowrun.task_run_log TO rowrun_replica;
GRANT UPDATE ON rowrun.task, rowrun.plan TO rowrun_replica;
GRANT DELETE ON rowrun.plan, rowrun.task, rowrun.task_dependency TO rowrun_replica;
GRANT UPDATE (stream_replica_id) ON rowrun.deployment TO rowrun_replica;

-- Functions that write with their owner's rights, and internal ones, are for those named here and nobody else.
REVOKE ALL ON FUNCTION rowrun.cancel_run(bigint, text), rowrun.retry_run(bigint), rowrun.abandon_run(bigint, text),
    rowrun.report_progress(bigint, uuid, jsonb), rowrun.complete_run(bigint, uuid, jsonb), rowrun.fail_run(bigint, uuid, text),
    rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]), rowrun.promote_runs(boolean),
    rowrun.mark_ended(bigint[]), rowrun.task_run_by_hand(), rowrun.task_outcome_changed(), rowrun.task_run_deleted(),
    rowrun.task_gate_changed(), rowrun.plan_gate_changed(), rowrun.task_dependency_changed(), rowrun.replica_changed(), rowrun.note_edit(text, boolean)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.note_edit(text, boolean) TO rowrun_client, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.cancel_run(bigint, text), rowrun.retry_run(bigint), rowrun.report_progress(bigint, uuid, jsonb),
    rowrun.complete_run(bigint, uuid, jsonb), rowrun.fail_run(bigint, uuid, text) TO rowrun_client, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.abandon_run(bigint, text) TO rowrun_operator, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]), rowrun.promote_runs(boolean),
    rowrun.mark_ended(bigint[]) TO rowrun_replica;
