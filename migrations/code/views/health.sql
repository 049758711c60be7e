-- What monitoring asks, in one row: metrics of replicas and `rowrun status --check` read it too. What it reads is bounded,
-- whatever the tables hold; a column that isn't asked for costs nothing.
-- What has a mark is found along its index from the oldest on. A run that only the next pass has to take has none: of these the
-- first in the order of promotion are looked at.
CREATE OR REPLACE VIEW rowrun.health WITH (security_invoker = true) AS
WITH overdue AS MATERIALIZED (
    (SELECT r.judge_at AS due, r.task_id, r.tick FROM rowrun.task_run r
     WHERE r.judge_at < now() - interval '10 s' AND r.plan_id IS NULL AND r.database_id IS NULL
     ORDER BY r.judge_at LIMIT 10000)
    UNION ALL
    (SELECT r.judge_at, r.task_id, r.tick FROM rowrun.task_run r
     WHERE r.judge_at < now() - interval '10 s' AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
     ORDER BY r.judge_at LIMIT 10000)
    UNION ALL
    SELECT f.due, f.task_id, f.tick FROM (
        SELECT greatest(r.run_at, r.created_at) AS due, r.task_id, r.tick FROM rowrun.task_run r
        WHERE r.status = 'PENDING' AND r.cause = 'PLAN' AND r.plan_id IS NULL
        ORDER BY r.plan_id, r.priority DESC, r.run_at, r.id LIMIT 10000) f
    WHERE f.due < now() - interval '10 s'
), available AS MATERIALIZED (
    SELECT r.available_at, r.task_id, r.tick FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' LIMIT 10000
), backlog AS MATERIALIZED (
    -- One row for each webhook with a PENDING delivery. The oldest tells for all: it is tried first.
    SELECT o.created_at AS since,
           CASE WHEN NOT w.enabled THEN 'disabled' WHEN o.unready_since IS NOT NULL THEN 'unready'
                WHEN o.attempts > 0 THEN 'refused' ELSE 'due' END AS reason
    FROM rowrun.webhook w
    CROSS JOIN LATERAL (
        SELECT d.created_at, d.unready_since, d.attempts FROM rowrun.webhook_delivery d
        WHERE d.webhook_id = w.id AND d.status = 'PENDING' ORDER BY d.created_at LIMIT 1) o
)
SELECT (SELECT count(*) FROM rowrun.replica_heartbeat h
        WHERE h.state <> 'DEAD' AND NOT h.worker AND h.role = 'worker' AND h.last_heartbeat + h.lease > clock_timestamp()) AS live_replicas,
       (SELECT CASE WHEN isfinite(min(a.available_at)) THEN clock_timestamp() - min(a.available_at) END FROM available a) AS oldest_available,
       (SELECT count(*) FROM overdue) AS overdue_pending,
       (SELECT CASE WHEN isfinite(min(o.due)) THEN clock_timestamp() - min(o.due) END FROM overdue o) AS overdue_for,
       (SELECT count(*) FROM (
           SELECT FROM rowrun.task_run r
           WHERE r.status = 'RUNNING' AND r.replica_id IS NOT NULL
             -- A worker that came back has another row, and may have kept its claims.
             AND NOT EXISTS (SELECT FROM rowrun.replica_heartbeat h WHERE h.replica_id = r.replica_id
                             AND CASE h.state WHEN 'DEAD' THEN h.worker ELSE h.last_heartbeat + h.lease > clock_timestamp() END)
           LIMIT 10000) s) AS stale_runs,
       (SELECT count(*) FROM rowrun.orphan_type) AS orphan_types,
       (SELECT coalesce(sum(o.pending + o.available), 0)::bigint FROM rowrun.orphan_type o) AS orphan_runs,
       (SELECT count(*) FROM backlog b WHERE b.reason IN ('refused', 'unready')) AS failing_webhooks,
       (SELECT CASE WHEN isfinite(min(b.since)) THEN clock_timestamp() - min(b.since) END FROM backlog b WHERE b.reason = 'disabled') AS delivery_disabled_for,
       (SELECT CASE WHEN isfinite(min(b.since)) THEN clock_timestamp() - min(b.since) END FROM backlog b WHERE b.reason = 'due') AS delivery_due_for,
       (SELECT CASE WHEN isfinite(min(b.since)) THEN clock_timestamp() - min(b.since) END FROM backlog b WHERE b.reason = 'refused') AS delivery_refused_for,
       (SELECT CASE WHEN isfinite(min(b.since)) THEN clock_timestamp() - min(b.since) END FROM backlog b WHERE b.reason = 'unready') AS delivery_unready_for,
       (SELECT count(DISTINCT x.task_id) FROM (
           SELECT o.task_id, o.tick FROM overdue o UNION ALL SELECT a.task_id, a.tick FROM available a) x
        WHERE x.tick < clock_timestamp() - interval '1 min'
          AND x.tick + (SELECT rowrun.spread_of(k) FROM rowrun.task k WHERE k.id = x.task_id) < clock_timestamp() - interval '1 min') AS missed_schedules,
       (SELECT count(*) FROM rowrun.task k WHERE k.schedule_error IS NOT NULL) AS stopped_schedules,
       pg_notification_queue_usage() AS notify_queue,
       (SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn)::bigint END
        FROM pg_replication_slots s
        WHERE s.slot_name = (SELECT 'rowrun_stream_' || left(d.id::text, 8) FROM rowrun.deployment d)) AS slot_lag,
       (SELECT count(*) FROM rowrun.replica_heartbeat h
        WHERE h.state <> 'DEAD' AND h.role = 'admin' AND h.last_heartbeat + h.lease > clock_timestamp()) AS live_admins;
COMMENT ON VIEW rowrun.health IS 'How the deployment stands, in one row. live_replicas are those that claim: no admin, and no program that claims by functions. Counts of runs end at 10,000 (overdue_pending: 30,000), and what is oldest is so among these. Durations are NULL where there is nothing. orphan_types and orphan_runs are what a replica has counted last; missed_schedules have a tick that should have started, with its spread, over a minute ago; stale_runs are RUNNING under a replica or worker whose lease is over; slot_lag is in bytes.';
