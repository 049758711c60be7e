-- stream_inserts
-- Runs in ranges of ids that don't overlap.
-- $1 bigint[]: where each range begins
-- $2 bigint[]: where it ends, this id included
-- $3 bigint: how many of each range at most
-- Returns: the snapshot's xmin and xmax, the age of transaction 3, the snapshot itself, the moment, and whether changes may not
--   be notified just now, in each row; the columns of stream_rows, by id (NULL: there is no run)
--
-- A queue of notifications that is filled and freed between two looks is not seen, so that it counts from half on of what
-- has everybody keep quiet. The age is asked for behind that: whoever has kept quiet until then has a lower number.
SELECT pg_snapshot_xmin(s.now)::text::bigint, pg_snapshot_xmax(s.now)::text::bigint, age('3'::xid), s.now::text, s.at, s.quiet, f.*
FROM (SELECT pg_current_snapshot() AS now, clock_timestamp() AS at,
             NOT rowrun.may_notify() OR pg_notification_queue_usage() >= 0.25 AS quiet) s
LEFT JOIN (
    SELECT r.id, r.root_id, r.task_id, k.name, r.type, r.queue, r.plan_id, r.database_id, r.version, r.attempt, r.retry_of,
           r.created_at, r.run_at, r.available_at, r.started_at, r.finished_at,
           CASE WHEN r.status IN ('FAILED', 'CANCELED') THEN r.result ->> 'code' END,
           CASE WHEN r.status IN ('FAILED', 'CANCELED') THEN left(r.result ->> 'detail', 4096) END,
           r.retry_run_id, k.failure_log_level, r.status, r.replica_id, coalesce(r.prev_status, ''), r.xmin::text::bigint,
           (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
    FROM unnest($1::bigint[], $2::bigint[]) AS w(low, high)
    CROSS JOIN LATERAL (
        SELECT x.id, x.root_id, x.task_id, x.type, x.queue, x.plan_id, x.database_id, x.version, x.attempt, x.retry_of,
               x.created_at, x.run_at, x.available_at, x.started_at, x.finished_at, x.status, x.result, x.retry_run_id, x.replica_id,
               x.prev_status, x.xmin
        FROM rowrun.task_run x WHERE x.id >= w.low AND x.id <= w.high ORDER BY x.id LIMIT $3
    ) r
    JOIN rowrun.task k ON k.id = r.task_id
) f ON true
ORDER BY f.id
