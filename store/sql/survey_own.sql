-- survey_own
-- Of a survey that which nobody else finds for a replica, where many look at the rest. Deliveries are among it as replicas differ in the secrets
-- that they are given, and notes as one alone writes the stream.
-- $1 text: the replica
-- $2 text[]: its queues
-- $3 text[]: its types
-- Returns: whether the replica may claim; whether a run is due; in how many ms the next one is (NULL: none is known); its RUNNING runs; whether
-- a delivery is due; whether the stream has something to say; a text that changes with the rules of claims; how full the notification queue
-- is, 0 to 1; how many live replicas can do all that this one can, hear notifications and had a free slot by their last heartbeat; the
-- database's clock. Each as survey has it.
WITH me AS MATERIALIZED (
    SELECT h.paused_at, h.databases, h.commands FROM rowrun.replica_heartbeat h WHERE h.replica_id = $1 AND h.state = 'ACTIVE'
), now AS MATERIALIZED (
    SELECT clock_timestamp() AS t
), due AS MATERIALIZED (
    SELECT least(
        (SELECT r.judge_at FROM rowrun.task_run r
         WHERE r.judge_at IS NOT NULL AND r.plan_id IS NULL AND r.database_id IS NULL ORDER BY r.judge_at LIMIT 1),
        (SELECT r.judge_at FROM rowrun.task_run r
         WHERE r.judge_at IS NOT NULL AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL) ORDER BY r.judge_at LIMIT 1)) AS at
)
SELECT EXISTS (SELECT FROM me),
       due.at <= now.t IS TRUE,
       (extract(epoch FROM due.at - now.t) * 1000)::float8,
       ARRAY(SELECT r.id FROM rowrun.task_run r WHERE r.status = 'RUNNING' AND r.replica_id = $1),
       (SELECT true FROM rowrun.webhook_delivery d WHERE d.status = 'PENDING' AND d.next_attempt_at <= now.t
        ORDER BY d.next_attempt_at LIMIT 1) IS TRUE,
       (SELECT true FROM rowrun.stream_note n WHERE n.printed_at IS NULL ORDER BY n.id LIMIT 1) IS TRUE,
       coalesce((SELECT me.paused_at::text FROM me), '')
       || (SELECT md5(coalesce(string_agg(rule::text, E'\n' ORDER BY rule.type), '')) FROM (SELECT * FROM rowrun.task_type ORDER BY type LIMIT 1000) rule),
       pg_notification_queue_usage(),
       (SELECT count(*) FROM (SELECT FROM rowrun.replica_heartbeat h CROSS JOIN me
                              WHERE h.state = 'ACTIVE' AND h.last_heartbeat + h.lease > now.t AND h.role = 'worker' AND NOT h.worker AND h.paused_at IS NULL
                                AND h.running < h.concurrency AND h.wake_source IS DISTINCT FROM 'poll'
                                AND h.queues @> $2 AND h.types @> $3 AND h.databases @> me.databases AND h.commands @> me.commands LIMIT 1000) p),
       now.t
FROM now, due
