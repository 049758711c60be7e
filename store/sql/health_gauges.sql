-- health_gauges
-- How the deployment stands. What it reads is bounded, whatever the tables hold.
-- What has a mark is found along its index from the oldest on. A run that only the next pass has to take has none: of these the
-- first in the order of promotion are looked at.
-- $1 text[]: reasons for which deliveries wait (store.DeliveryReasons)
-- Returns: overdue runs (up to 30,000), for how many seconds the oldest is, live replicas, the notification queue (0 to 1),
--   for each reason how many seconds its oldest delivery waits (0: none), stopped schedules, types without a replica, their
--   runs, the slot's lag in bytes
WITH overdue AS MATERIALIZED (
    (SELECT r.judge_at AS due FROM rowrun.task_run r
     WHERE r.judge_at < now() - interval '10 s' AND r.plan_id IS NULL AND r.database_id IS NULL
     ORDER BY r.judge_at LIMIT 10000)
    UNION ALL
    (SELECT r.judge_at FROM rowrun.task_run r
     WHERE r.judge_at < now() - interval '10 s' AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
     ORDER BY r.judge_at LIMIT 10000)
    UNION ALL
    SELECT f.due FROM (
        SELECT greatest(r.run_at, r.created_at) AS due FROM rowrun.task_run r
        WHERE r.status = 'PENDING' AND r.cause = 'PLAN' AND r.plan_id IS NULL
        ORDER BY r.plan_id, r.priority DESC, r.run_at, r.id LIMIT 10000) f
    WHERE f.due < now() - interval '10 s'
), backlog AS (
    -- One row for each webhook with a PENDING delivery. The oldest tells for all: it is tried first.
    SELECT o.created_at AS since,
           CASE WHEN NOT w.enabled THEN 'disabled' WHEN o.unready_since IS NOT NULL THEN 'unready'
                WHEN o.attempts > 0 THEN 'refused' ELSE 'due' END AS reason
    FROM rowrun.webhook w
    CROSS JOIN LATERAL (
        SELECT d.created_at, d.unready_since, d.attempts FROM rowrun.webhook_delivery d
        WHERE d.webhook_id = w.id AND d.status = 'PENDING' ORDER BY d.created_at LIMIT 1) o
)
SELECT (SELECT count(*) FROM overdue),
       coalesce((SELECT extract(epoch FROM CASE WHEN isfinite(min(o.due)) THEN clock_timestamp() - min(o.due) END) FROM overdue o), 0)::float8,
       (SELECT count(*) FROM rowrun.replica_heartbeat h WHERE h.state <> 'DEAD' AND NOT h.worker AND h.last_heartbeat + h.lease > clock_timestamp()),
       pg_notification_queue_usage(),
       (SELECT array_agg(coalesce(x.age, 0) ORDER BY v.n)
        FROM unnest($1::text[]) WITH ORDINALITY v(reason, n)
        LEFT JOIN (SELECT b.reason, extract(epoch FROM CASE WHEN isfinite(min(b.since)) THEN clock_timestamp() - min(b.since) END)::float8 AS age
                   FROM backlog b GROUP BY b.reason) x ON x.reason = v.reason),
       (SELECT count(*) FROM rowrun.task k WHERE k.schedule_error IS NOT NULL),
       (SELECT count(*) FROM rowrun.orphan_type), (SELECT coalesce(sum(o.pending + o.available), 0)::bigint FROM rowrun.orphan_type o),
       (SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn)::bigint END
        FROM pg_replication_slots s
        WHERE s.slot_name = (SELECT 'rowrun_stream_' || left(d.id::text, 8) FROM rowrun.deployment d))
