-- What the five roles may do; can be repeated at any time (rowrun migrate grants).
-- client: defines tasks of harmless types, inserts, cancels and retries. author: also SQL, DATABASE_MIGRATE and COMMAND
-- tasks, webhooks. operator: also skips, pauses, limits, abandons. viewer: reads. replica: what the sidecar needs.
GRANT USAGE ON SCHEMA rowrun TO rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer, rowrun_replica;
GRANT rowrun_client TO rowrun_author;
GRANT rowrun_author TO rowrun_operator;

GRANT SELECT ON rowrun.deployment, rowrun.plan, rowrun.task, rowrun.task_dependency, rowrun.task_run, rowrun.task_run_log,
    rowrun.replica_heartbeat, rowrun.job, rowrun.task_status, rowrun.plan_status, rowrun.replica_status, rowrun.failed_run,
    rowrun.webhook_delivery_log, rowrun.webhook_delivery, rowrun.migration
    TO rowrun_client, rowrun_viewer, rowrun_replica;
GRANT SELECT ON rowrun.unmet_dependency TO rowrun_client, rowrun_viewer, rowrun_replica; -- waiting() asks it
-- Where messages go, and what signs them, is for those who write it and for the sidecar.
GRANT SELECT (id, project, name, events, format, enabled, created_at) ON rowrun.webhook TO rowrun_client, rowrun_viewer;

GRANT INSERT, DELETE ON rowrun.plan, rowrun.task, rowrun.task_dependency TO rowrun_client;
GRANT INSERT ON rowrun.task_run TO rowrun_client;
GRANT UPDATE (name, type, queue, database_id, version, sequential, payload, priority, timeout, progress_timeout,
    max_attempts, retry_delay, on_stale, on_failure_task, labels) ON rowrun.task TO rowrun_client;
GRANT UPDATE (name, project) ON rowrun.plan TO rowrun_client;
GRANT UPDATE (run_at, priority, input, cancel_requested_at, cancel_reason) ON rowrun.task_run TO rowrun_client;
GRANT USAGE ON SEQUENCE rowrun.plan_id_seq, rowrun.task_id_seq, rowrun.task_run_id_seq TO rowrun_client, rowrun_replica;

GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.webhook TO rowrun_author;
GRANT UPDATE (status, attempts, next_attempt_at, delivered_at, leased_until, lease_token) ON rowrun.webhook_delivery TO rowrun_author;
GRANT USAGE ON SEQUENCE rowrun.webhook_id_seq TO rowrun_author;

GRANT UPDATE (paused, skipped, skip_reason) ON rowrun.task TO rowrun_operator;
GRANT UPDATE (paused, parallel_limit, on_failure) ON rowrun.plan TO rowrun_operator;

GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.task_run, rowrun.replica_heartbeat, rowrun.gate_mark, rowrun.task_run_log TO rowrun_replica;
GRANT UPDATE ON rowrun.task, rowrun.plan TO rowrun_replica;
GRANT DELETE ON rowrun.plan, rowrun.task, rowrun.task_dependency TO rowrun_replica;
GRANT UPDATE (stream_replica_id) ON rowrun.deployment TO rowrun_replica;
GRANT SELECT, UPDATE (enabled) ON rowrun.webhook TO rowrun_replica;
GRANT UPDATE, DELETE ON rowrun.webhook_delivery TO rowrun_replica;

-- Functions that write with their owner's rights, and internal ones, are for those named here and nobody else.
REVOKE ALL ON FUNCTION rowrun.cancel_run(bigint, text), rowrun.retry_run(bigint), rowrun.abandon_run(bigint, text),
    rowrun.report_progress(bigint, uuid, jsonb), rowrun.complete_run(bigint, uuid, jsonb), rowrun.fail_run(bigint, uuid, text),
    rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]), rowrun.promote_runs(boolean, boolean), rowrun.advance_databases(text[]),
    rowrun.mark_ended(bigint[]), rowrun.mark_stopped(bigint[]), rowrun.task_run_by_hand(), rowrun.task_outcome_changed(), rowrun.task_run_deleted(),
    rowrun.task_gate_changed(), rowrun.task_left_plan(), rowrun.plan_gate_changed(), rowrun.task_dependency_changed(), rowrun.replica_changed(), rowrun.note_edit(text, boolean), rowrun.note_ready(bigint),
    rowrun.announce_plans(bigint[]), rowrun.begin_round(bigint, integer, boolean), rowrun.begin_rounds(bigint[], boolean),
    rowrun.settle_plans(bigint[], jsonb, boolean), rowrun.set_skipped(bigint, boolean, text), rowrun.webhook_changed(), rowrun.webhook_deleted(),
    rowrun.retry_plan(bigint), rowrun.cancel_plan(bigint, text), rowrun.skip_task(bigint, text), rowrun.unskip_task(bigint)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.announce_plans(bigint[]), rowrun.begin_round(bigint, integer, boolean),
    rowrun.begin_rounds(bigint[], boolean), rowrun.settle_plans(bigint[], jsonb, boolean) TO rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.retry_plan(bigint), rowrun.cancel_plan(bigint, text) TO rowrun_client, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.skip_task(bigint, text), rowrun.unskip_task(bigint) TO rowrun_operator, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.note_edit(text, boolean), rowrun.note_ready(bigint) TO rowrun_client, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.cancel_run(bigint, text), rowrun.retry_run(bigint), rowrun.report_progress(bigint, uuid, jsonb),
    rowrun.complete_run(bigint, uuid, jsonb), rowrun.fail_run(bigint, uuid, text) TO rowrun_client, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.abandon_run(bigint, text) TO rowrun_operator, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]), rowrun.promote_runs(boolean, boolean), rowrun.advance_databases(text[]),
    rowrun.mark_ended(bigint[]), rowrun.mark_stopped(bigint[]) TO rowrun_replica;

-- Liveness: notes for the stream, lost runs, types that go.
GRANT SELECT ON rowrun.orphan_task_run, rowrun.orphan_type, rowrun.task_type, rowrun.stream_note TO rowrun_client, rowrun_viewer, rowrun_replica;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.stream_note, rowrun.recovery_call, rowrun.orphan_type TO rowrun_replica;
GRANT SELECT ON rowrun.stream_position TO rowrun_client, rowrun_viewer;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.stream_position, rowrun.stream_handover TO rowrun_replica;
GRANT UPDATE (orphans_looked_at) ON rowrun.deployment TO rowrun_replica;
GRANT INSERT, UPDATE, DELETE ON rowrun.task_type TO rowrun_operator;
REVOKE ALL ON FUNCTION rowrun.handle_ended(bigint[], text[], bigint[]), rowrun.note_orphans(interval, interval),
    rowrun.purge_type(text, interval, bigint, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.handle_ended(bigint[], text[], bigint[]), rowrun.note_orphans(interval, interval) TO rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.purge_type(text, interval, bigint, integer) TO rowrun_operator;
