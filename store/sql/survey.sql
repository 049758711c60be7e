-- survey
-- One look at everything that the sweeps of a replica are for.
-- $1 text: the replica
-- $2 text[]: its queues
-- $3 text[]: its types
-- Returns: whether the replica may claim; whether a whole pass may find something; in how many ms the next run is due (NULL:
-- none is known); its RUNNING runs; whether a run that the app or a worker executes is overdue; whether a delivery is due; whether the
-- stream has something to say; whether a priority is to be raised; a text that changes with the rules of claims; how full the notification queue is, 0 to 1;
-- whether limits may apply to these queues and types; how many live replicas can do all that this one can, hear notifications and
-- had a free slot by their last heartbeat; the database's clock
-- What makes a whole pass necessary is what promote_runs(true) and settle_plans look for. Each is asked for along its own
-- index, in whose order, so that no statistics of a table that was empty once lead to another one.
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
       due.at <= now.t IS TRUE
       OR (SELECT true FROM rowrun.gate_mark m ORDER BY m.id LIMIT 1) IS TRUE
       OR (SELECT true FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.cause = 'PLAN'
           ORDER BY r.plan_id, r.priority DESC, r.run_at, r.id LIMIT 1) IS TRUE
       OR (SELECT true FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.cause = 'DATABASE'
           ORDER BY r.database_id, r.version_key LIMIT 1) IS TRUE
       OR (SELECT true FROM rowrun.plan_wave w WHERE w.opened_at IS NULL AND w.opens_at IS NOT NULL AND w.opens_at <= now.t ORDER BY w.opens_at LIMIT 1) IS TRUE
       OR (SELECT true FROM rowrun.run_after w WHERE w.open ORDER BY w.run_id LIMIT 1) IS TRUE
       OR (SELECT true FROM rowrun.task_run r WHERE r.limit_wait IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE')
           ORDER BY r.limit_wait, r.status LIMIT 1) IS TRUE
       OR (SELECT true FROM unnest($2::text[]) q(queue) CROSS JOIN unnest($3::text[]) y(type)
           CROSS JOIN LATERAL (SELECT FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
                               ORDER BY r.priority DESC, r.run_at, r.id LIMIT 1) a LIMIT 1) IS TRUE
       OR (SELECT true FROM rowrun.plan p CROSS JOIN LATERAL rowrun.due_event(p) e
           WHERE p.id = ANY (ARRAY(SELECT q.id FROM rowrun.plan q WHERE q.announced_round < q.round
                                     AND q.id > (SELECT floor(random() * coalesce(max(x.id), 0)) FROM rowrun.plan x) ORDER BY q.id LIMIT 1000)
                             || ARRAY(SELECT q.id FROM rowrun.plan q WHERE q.announced_round < q.round ORDER BY q.id LIMIT 1000))
             AND e.event IS NOT NULL LIMIT 1) IS TRUE,
       (extract(epoch FROM due.at - now.t) * 1000)::float8,
       ARRAY(SELECT r.id FROM rowrun.task_run r WHERE r.status = 'RUNNING' AND r.replica_id = $1),
       (SELECT true FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
        WHERE r.status = 'RUNNING' AND r.replica_id IS NULL
          AND (r.deadline < now.t OR coalesce(r.progress_at, r.started_at) + k.progress_timeout < now.t) LIMIT 1) IS TRUE
       OR (SELECT true FROM rowrun.worker_claim c CROSS JOIN LATERAL (
               SELECT FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
               WHERE r.id = c.run_id AND r.claim_hash = c.claim_hash AND coalesce(r.status, '') = 'RUNNING'
                 AND (c.until < now.t OR r.deadline < now.t OR coalesce(r.progress_at, r.started_at) + k.progress_timeout < now.t) OFFSET 0) r
           LIMIT 1) IS TRUE,
       (SELECT true FROM rowrun.webhook_delivery d WHERE d.status = 'PENDING' AND d.next_attempt_at <= now.t
        ORDER BY d.next_attempt_at LIMIT 1) IS TRUE,
       (SELECT true FROM rowrun.stream_note n WHERE n.printed_at IS NULL ORDER BY n.id LIMIT 1) IS TRUE,
       (SELECT true FROM rowrun.task_run r WHERE r.age_at <= now.t AND r.age_at IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE')
        ORDER BY r.age_at LIMIT 1) IS TRUE,
       coalesce((SELECT me.paused_at::text FROM me), '')
       || (SELECT md5(coalesce(string_agg(rule::text, E'\n' ORDER BY rule.type), '')) FROM (SELECT * FROM rowrun.task_type ORDER BY type LIMIT 1000) rule),
       pg_notification_queue_usage(),
       rowrun.may_be_limited() AND rowrun.may_limit($2, $3),
       (SELECT count(*) FROM (SELECT FROM rowrun.replica_heartbeat h CROSS JOIN me
                              WHERE h.state = 'ACTIVE' AND h.last_heartbeat + h.lease > now.t AND h.role = 'worker' AND NOT h.worker AND h.paused_at IS NULL
                                AND h.running < h.concurrency AND h.wake_source IS DISTINCT FROM 'poll'
                                AND h.queues @> $2 AND h.types @> $3 AND h.databases @> me.databases AND h.commands @> me.commands LIMIT 1000) p),
       now.t
FROM now, due
