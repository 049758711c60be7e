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

-- Nobody but the owner and replicas updates or deletes in a whole table: who may can LOCK it as well. What an older version
-- granted there is taken back.
REVOKE UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON ALL TABLES IN SCHEMA rowrun
    FROM PUBLIC, rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer;
GRANT INSERT ON rowrun.plan, rowrun.task, rowrun.task_dependency, rowrun.task_run TO rowrun_client;
GRANT UPDATE (name, type, queue, database_id, version, sequential, payload, priority, timeout, progress_timeout,
    max_attempts, retry_delay, on_stale, on_failure_task, labels, retention, failure_log_level,
    schedule, time_zone, misfire, starts_at, ends_at, overlap, state) ON rowrun.task TO rowrun_client;
GRANT UPDATE (name, project) ON rowrun.plan TO rowrun_client;
GRANT UPDATE (run_at, priority, input, cancel_requested_at, cancel_reason) ON rowrun.task_run TO rowrun_client;
GRANT USAGE ON SEQUENCE rowrun.plan_id_seq, rowrun.task_id_seq, rowrun.task_run_id_seq TO rowrun_client, rowrun_replica;

GRANT USAGE ON SEQUENCE rowrun.task_run_log_id_seq TO rowrun_replica; -- next_log_id() asks for it by name
GRANT SELECT ON ALL SEQUENCES IN SCHEMA rowrun TO rowrun_viewer, rowrun_replica; -- doctor compares them with their tables

GRANT SELECT, INSERT, UPDATE (project, name, url, secret_ref, events, format, enabled) ON rowrun.webhook TO rowrun_author;
GRANT UPDATE (status, attempts, next_attempt_at, delivered_at, leased_until, lease_token) ON rowrun.webhook_delivery TO rowrun_author;
GRANT USAGE ON SEQUENCE rowrun.webhook_id_seq TO rowrun_author;

GRANT UPDATE (paused, skipped, skip_reason) ON rowrun.task TO rowrun_operator;
GRANT UPDATE (paused, parallel_limit, on_failure) ON rowrun.plan TO rowrun_operator;

GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.task_run, rowrun.replica_heartbeat, rowrun.gate_mark, rowrun.task_run_log TO rowrun_replica;
GRANT SELECT ON rowrun.promotion_lock TO rowrun_client, rowrun_viewer; -- waiting() asks who holds it
GRANT SELECT, INSERT, UPDATE ON rowrun.promotion_lock TO rowrun_replica;
GRANT UPDATE ON rowrun.task, rowrun.plan TO rowrun_replica;
GRANT DELETE ON rowrun.plan, rowrun.task, rowrun.task_dependency TO rowrun_replica;
GRANT UPDATE (stream_replica_id) ON rowrun.deployment TO rowrun_replica;
GRANT SELECT, UPDATE (enabled) ON rowrun.webhook TO rowrun_replica;
GRANT UPDATE, DELETE ON rowrun.webhook_delivery TO rowrun_replica;

-- Functions that write with their owner's rights, and internal ones, are for those named here and nobody else.
REVOKE ALL ON FUNCTION rowrun.cancel_run(bigint, text), rowrun.retry_run(bigint), rowrun.abandon_run(bigint, text),
    rowrun.report_progress(bigint, uuid, jsonb), rowrun.complete_run(bigint, uuid, jsonb), rowrun.fail_run(bigint, uuid, text),
    rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]), rowrun.promote_runs(boolean, boolean, integer), rowrun.advance_databases(text[]),
    rowrun.make_available(bigint[], timestamptz), rowrun.make_available_singly(bigint[], timestamptz), rowrun.hold_runs(bigint[], text[]),
    rowrun.promote_ungated(timestamptz, integer), rowrun.take_marks(boolean, integer), rowrun.candidates(record, boolean, integer),
    rowrun.lock_plans_of_ends(bigint[], bigint[], text[]), rowrun.make_ended(bigint[], uuid[], text[], jsonb[], bigint[], timestamptz),
    rowrun.insert_successors(bigint[], text[], bigint[], timestamptz),
    rowrun.verdicts_on(bigint[]), rowrun.apply_verdicts(record), rowrun.mark_unseen_ends(bigint[], text[]), rowrun.leave_marks(record, bigint[], text[]),
    rowrun.mark_ended(bigint[]), rowrun.mark_stopped(bigint[]), rowrun.task_run_by_hand(), rowrun.task_outcome_changed(), rowrun.task_run_deleted(),
    rowrun.task_gate_changed(), rowrun.task_left_plan(), rowrun.plan_gate_changed(), rowrun.task_dependency_changed(), rowrun.replica_changed(), rowrun.note_edit(text, boolean), rowrun.note_ready(bigint),
    rowrun.announce_plans(bigint[]), rowrun.begin_round(bigint, integer, boolean), rowrun.begin_rounds(bigint[], boolean),
    rowrun.settle_plans(bigint[], jsonb, boolean), rowrun.set_skipped(bigint, boolean, text), rowrun.webhook_changed(), rowrun.webhook_deleted(),
    rowrun.retry_plan(bigint), rowrun.cancel_plan(bigint, text), rowrun.skip_task(bigint, text), rowrun.unskip_task(bigint),
    rowrun.remove_task(bigint), rowrun.remove_any_task(bigint), rowrun.remove_plan(bigint), rowrun.remove_any_plan(bigint),
    rowrun.remove_dependency(bigint, bigint), rowrun.remove_any_dependency(bigint, bigint), rowrun.delete_webhook(bigint)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.remove_task(bigint), rowrun.remove_plan(bigint), rowrun.remove_dependency(bigint, bigint) TO rowrun_client;
GRANT EXECUTE ON FUNCTION rowrun.remove_any_task(bigint), rowrun.remove_any_plan(bigint), rowrun.remove_any_dependency(bigint, bigint),
    rowrun.delete_webhook(bigint) TO rowrun_author;
GRANT EXECUTE ON FUNCTION rowrun.announce_plans(bigint[]), rowrun.begin_round(bigint, integer, boolean),
    rowrun.begin_rounds(bigint[], boolean), rowrun.settle_plans(bigint[], jsonb, boolean) TO rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.retry_plan(bigint), rowrun.cancel_plan(bigint, text) TO rowrun_client, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.skip_task(bigint, text), rowrun.unskip_task(bigint) TO rowrun_operator, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.note_edit(text, boolean), rowrun.note_ready(bigint) TO rowrun_client, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.cancel_run(bigint, text), rowrun.retry_run(bigint), rowrun.report_progress(bigint, uuid, jsonb),
    rowrun.complete_run(bigint, uuid, jsonb), rowrun.fail_run(bigint, uuid, text) TO rowrun_client, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.abandon_run(bigint, text) TO rowrun_operator, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]), rowrun.promote_runs(boolean, boolean, integer), rowrun.advance_databases(text[]),
    rowrun.make_available(bigint[], timestamptz), rowrun.make_available_singly(bigint[], timestamptz), rowrun.hold_runs(bigint[], text[]),
    rowrun.promote_ungated(timestamptz, integer), rowrun.take_marks(boolean, integer), rowrun.candidates(record, boolean, integer),
    rowrun.lock_plans_of_ends(bigint[], bigint[], text[]), rowrun.make_ended(bigint[], uuid[], text[], jsonb[], bigint[], timestamptz),
    rowrun.insert_successors(bigint[], text[], bigint[], timestamptz),
    rowrun.verdicts_on(bigint[]), rowrun.apply_verdicts(record), rowrun.mark_unseen_ends(bigint[], text[]), rowrun.leave_marks(record, bigint[], text[]),
    rowrun.mark_ended(bigint[]), rowrun.mark_stopped(bigint[]) TO rowrun_replica;

-- Liveness: notes for the stream, lost runs, types that go.
GRANT SELECT ON rowrun.orphan_task_run, rowrun.orphan_type, rowrun.task_type, rowrun.stream_note TO rowrun_client, rowrun_viewer, rowrun_replica;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.stream_note, rowrun.orphan_type TO rowrun_replica;
GRANT SELECT ON rowrun.stream_position TO rowrun_client, rowrun_viewer;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.stream_position, rowrun.stream_handover TO rowrun_replica;
GRANT UPDATE (orphans_looked_at) ON rowrun.deployment TO rowrun_replica;
GRANT INSERT, UPDATE (draining, alias_of, mapping, changed_at) ON rowrun.task_type TO rowrun_operator;
REVOKE ALL ON FUNCTION rowrun.handle_ended(bigint[]), rowrun.note_orphans(interval, interval),
    rowrun.purge_type(text, interval, bigint, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.handle_ended(bigint[]), rowrun.note_orphans(interval, interval) TO rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.purge_type(text, interval, bigint, integer) TO rowrun_operator;

-- The default privileges of whoever migrates may have given others more than stands above. Who may attach a trigger or a
-- foreign key to these tables, or add a function to this schema, has code of his own run as the sidecar. So nobody but the
-- owner may; nobody besides our roles holds table-wide UPDATE and DELETE or calls what is internal. SELECT, INSERT and
-- rights on columns that somebody was given stay.
DO $$
DECLARE
    excess record;
BEGIN
    FOR excess IN
        WITH ours AS (
            SELECT array_agg(r.oid) AS roles FROM pg_catalog.pg_roles r
            WHERE r.rolname IN ('rowrun_client', 'rowrun_author', 'rowrun_operator', 'rowrun_viewer', 'rowrun_replica')
        ), held AS (
            SELECT 'TABLE ' || c.oid::regclass AS object, c.relowner AS owner, a.grantee, a.privilege_type
            FROM pg_catalog.pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
            WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
            UNION ALL
            SELECT 'SCHEMA rowrun', n.nspowner, a.grantee, a.privilege_type
            FROM pg_catalog.pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a WHERE n.nspname = 'rowrun'
            UNION ALL
            SELECT 'FUNCTION ' || f.oid::regprocedure, f.proowner, a.grantee, 'INTERNAL'
            FROM pg_catalog.pg_proc f CROSS JOIN LATERAL aclexplode(f.proacl) a
            WHERE f.pronamespace = 'rowrun'::regnamespace AND NOT has_function_privilege('rowrun_operator', f.oid, 'EXECUTE')
            UNION ALL
            SELECT 'TABLE ' || t.attrelid::regclass, c.relowner, a.grantee, 'REFERENCES'
            FROM pg_catalog.pg_attribute t JOIN pg_catalog.pg_class c ON c.oid = t.attrelid CROSS JOIN LATERAL aclexplode(t.attacl) a
            WHERE c.relnamespace = 'rowrun'::regnamespace AND a.privilege_type = 'REFERENCES'
        )
        SELECT DISTINCT format('REVOKE %s ON %s FROM %s CASCADE', CASE h.privilege_type WHEN 'INTERNAL' THEN 'EXECUTE' ELSE h.privilege_type END,
                               h.object, CASE h.grantee WHEN 0 THEN 'PUBLIC' ELSE h.grantee::regrole::text END) AS revoke
        FROM held h CROSS JOIN ours
        WHERE h.grantee <> h.owner
          AND (h.privilege_type IN ('TRIGGER', 'REFERENCES', 'TRUNCATE', 'CREATE')
               OR (h.privilege_type IN ('UPDATE', 'DELETE', 'INTERNAL') AND h.grantee <> ALL (ours.roles)))
    LOOP
        EXECUTE excess.revoke;
    END LOOP;
END $$;
