-- What the five roles may do; can be repeated at any time (rowrun migrate grants).
-- client: defines tasks of harmless types, inserts, cancels and retries. author: also SQL, DATABASE_MIGRATE and COMMAND
-- tasks, webhooks. operator: also skips, pauses, limits, abandons. viewer: reads. replica: what the sidecar needs.
GRANT USAGE ON SCHEMA rowrun TO rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer, rowrun_replica, rowrun_worker;
GRANT rowrun_client TO rowrun_author;
GRANT rowrun_author TO rowrun_operator;

GRANT SELECT ON rowrun.deployment, rowrun.plan, rowrun.task, rowrun.task_dependency, rowrun.task_run, rowrun.task_run_log,
    rowrun.replica_heartbeat, rowrun.job, rowrun.task_status, rowrun.plan_status, rowrun.replica_status, rowrun.failed_run, rowrun.health,
    rowrun.webhook_delivery_log, rowrun.webhook_delivery, rowrun.migration
    TO rowrun_client, rowrun_viewer, rowrun_replica;
GRANT SELECT ON rowrun.unmet_dependency, rowrun.unmet_after, rowrun.run_after TO rowrun_client, rowrun_viewer, rowrun_replica; -- waiting() asks them
GRANT UPDATE, DELETE ON rowrun.run_after TO rowrun_replica;
-- What somebody's GRANT ALL gave Rowrun's own roles besides is taken back before anything is granted: a worker has functions only, and
-- nobody but the sidecar and who is named below inserts.
REVOKE ALL ON ALL TABLES IN SCHEMA rowrun FROM rowrun_worker;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA rowrun FROM rowrun_worker;
REVOKE INSERT ON ALL TABLES IN SCHEMA rowrun FROM rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer;
REVOKE SELECT ON rowrun.webhook FROM rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer;
-- Where messages go, and what signs them, is for those who write it and for the sidecar.
GRANT SELECT (id, project, name, events, filter, format, enabled, created_at) ON rowrun.webhook TO rowrun_client, rowrun_viewer;

-- Nobody but the owner and replicas updates or deletes in a whole table: who may can LOCK it as well. What an older version
-- granted there is taken back.
REVOKE UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON ALL TABLES IN SCHEMA rowrun
    FROM PUBLIC, rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer;
GRANT INSERT ON rowrun.plan, rowrun.task, rowrun.task_dependency, rowrun.task_run TO rowrun_client;
GRANT UPDATE (name, type, queue, database_id, version, sequential, payload, priority, timeout, progress_timeout,
    max_attempts, retry_delay, on_stale, on_failure_task, labels, retention, retention_by_status, failure_log_level,
    schedule, time_zone, misfire, starts_at, ends_at, overlap, state, spread, aging) ON rowrun.task TO rowrun_client;
GRANT UPDATE (name, project, on_finish_task) ON rowrun.plan TO rowrun_client;
-- An upsert sets task_id, idempotency_key and both ends of a dependency too, to what they are; anything else is refused.
GRANT UPDATE (task_id, depends_on_id) ON rowrun.task_dependency TO rowrun_client;
GRANT UPDATE (task_id, idempotency_key, run_at, priority, input, cancel_requested_at, cancel_reason) ON rowrun.task_run TO rowrun_client;
GRANT USAGE ON SEQUENCE rowrun.plan_id_seq, rowrun.task_id_seq, rowrun.task_run_id_seq TO rowrun_client, rowrun_replica;

GRANT USAGE ON SEQUENCE rowrun.task_run_log_id_seq TO rowrun_replica; -- next_log_id() asks for it by name
GRANT SELECT ON ALL SEQUENCES IN SCHEMA rowrun TO rowrun_viewer, rowrun_replica; -- doctor compares them with their tables

GRANT SELECT, INSERT, UPDATE (project, name, url, secret_ref, events, filter, format, enabled) ON rowrun.webhook TO rowrun_author;
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
