-- survey
-- One look at everything that the sweeps of a replica are for.
-- $1 text: the replica
-- $2 text[]: its queues
-- $3 text[]: its types
-- Returns: whether the replica may claim; whether a whole pass may find something; in how many ms the next run is due (NULL:
-- none is known); its RUNNING runs; whether a run that the app took over is overdue; whether a delivery is due; whether the
-- stream has something to say; a text that changes with the rules of claims; how full the notification queue is, 0 to 1; who
-- holds something up, as JSON
-- What makes a whole pass necessary is what promote_runs(true) and settle_plans look for. Each is asked for along its own
-- index, in whose order, so that no statistics of a table that was empty once lead to another one.
WITH me AS MATERIALIZED (
    SELECT h.paused_at FROM rowrun.replica_heartbeat h WHERE h.replica_id = $1 AND h.state = 'ACTIVE'
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
       OR (SELECT true FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.hold = 'READY'
           ORDER BY r.plan_id, r.priority DESC, r.run_at, r.id LIMIT 1) IS TRUE
       OR (SELECT true FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.hold = 'DATABASE'
           ORDER BY r.database_id, r.version_key LIMIT 1) IS TRUE
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
          AND (r.deadline < now.t OR coalesce(r.progress_at, r.started_at) + k.progress_timeout < now.t) LIMIT 1) IS TRUE,
       (SELECT true FROM rowrun.webhook_delivery d WHERE d.status = 'PENDING' AND d.next_attempt_at <= now.t
        ORDER BY d.next_attempt_at LIMIT 1) IS TRUE,
       (SELECT true FROM rowrun.stream_note n WHERE n.printed_at IS NULL ORDER BY n.id LIMIT 1) IS TRUE,
       coalesce((SELECT me.paused_at::text FROM me), '')
       || (SELECT md5(coalesce(string_agg(rule::text, E'\n' ORDER BY rule.type), '')) FROM (SELECT * FROM rowrun.task_type ORDER BY type LIMIT 1000) rule),
       pg_notification_queue_usage(),
       coalesce((SELECT json_agg(json_build_object('PID', h.pid, 'User', coalesce(a.usename, '?'), 'What', h.what) ORDER BY h.pid, h.what)
    FROM (SELECT h.* FROM (
    SELECT l.pid, l.what FROM (
        SELECT k.pid, CASE
            WHEN k.classid = 1920298606 AND k.granted
                 AND mod(k.objid::bigint - now_slice.n + 4294967296, 4294967296) BETWEEN 1000 AND 720000
                THEN 'keeps INSERTs from notifying: runs are found by sweeps'
            WHEN k.classid = 1920298607 AND k.objid = 3 AND k.granted AND k.mode = 'ExclusiveLock'
                 AND NOT EXISTS (SELECT FROM rowrun.replica_heartbeat h WHERE h.wake_source = 'wal' AND h.state <> 'DEAD'
                                   AND h.last_heartbeat + h.lease > clock_timestamp())
                THEN 'keeps INSERTs from notifying: runs are found by sweeps'
            WHEN k.classid = 1920298607 AND k.objid = 3 AND k.granted AND k.mode = 'ShareLock' AND NOT pg_has_role(k.usesysid, 'rowrun_replica', 'MEMBER')
                THEN 'keeps replicas from being woken by the log'
            WHEN k.classid = 1920298607 AND k.objid = 2 AND k.granted
                 AND NOT EXISTS (SELECT FROM rowrun.deployment d JOIN rowrun.replica_heartbeat h ON h.replica_id = d.stream_replica_id
                                 WHERE h.state <> 'DEAD' AND h.last_heartbeat + h.lease > clock_timestamp())
                THEN 'keeps replicas from writing the stream'
            WHEN k.classid = 1920298605 AND k.granted
                 AND EXISTS (SELECT FROM pg_locks w WHERE w.locktype = 'advisory' AND w.database = k.database
                               AND w.classid = k.classid AND w.objid = k.objid AND NOT w.granted)
                THEN 'keeps run_plan, retry_plan or cancel_plan of a plan waiting'
            WHEN k.classid = 1919907698 AND k.objid = 1970171239 AND k.granted
                 AND NOT pg_has_role(k.usesysid, (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'rowrun'), 'MEMBER')
                THEN 'keeps migrations waiting' END AS what
        FROM (SELECT (extract(epoch FROM clock_timestamp()) * 200)::bigint % 4294967296 AS n) now_slice
        CROSS JOIN (SELECT g.pid, g.classid, g.objid, g.mode, g.granted, g.database, a.usesysid
                    FROM pg_locks g LEFT JOIN pg_stat_activity a ON a.pid = g.pid
                    WHERE g.locktype = 'advisory' AND g.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())) k
        UNION ALL
        SELECT t.pid, 'holds ' || min(r.what) || ' that ' || CASE WHEN count(*) = 1 THEN 'is' ELSE 'are, with more, ' END || ' due'
        FROM (
            SELECT x.xmax AS holder, 'run ' || x.id AS what FROM (
                (SELECT q.id FROM rowrun.task_run q WHERE q.judge_at < clock_timestamp() - interval '2 s' AND q.plan_id IS NULL AND q.database_id IS NULL
                 ORDER BY q.judge_at LIMIT 20)
                UNION ALL
                (SELECT q.id FROM rowrun.task_run q WHERE q.judge_at < clock_timestamp() - interval '2 s' AND (q.plan_id IS NOT NULL OR q.database_id IS NOT NULL)
                 ORDER BY q.judge_at LIMIT 20)
                UNION ALL
                (SELECT q.id FROM rowrun.task_run q WHERE q.status = 'PENDING' AND q.hold = 'READY' AND q.plan_id IS NULL
                 ORDER BY q.plan_id, q.priority DESC, q.run_at, q.id LIMIT 20)
                UNION ALL
                (SELECT q.id FROM rowrun.task_run q WHERE q.status = 'AVAILABLE'
                 ORDER BY q.queue, q.type, q.priority DESC, q.run_at, q.id LIMIT 20)
                UNION ALL
                (SELECT m.run_id FROM rowrun.gate_mark m WHERE m.kind = 'RUN' ORDER BY m.id LIMIT 20)) due
            JOIN rowrun.task_run x ON x.id = due.id
            UNION ALL
            SELECT p.xmax, 'plan ' || p.id
            FROM (SELECT m.plan_id FROM rowrun.gate_mark m WHERE m.kind IN ('PLAN', 'GATE') ORDER BY m.id LIMIT 20) m JOIN rowrun.plan p ON p.id = m.plan_id
            UNION ALL
            SELECT p.xmax, 'the lock of the gates' FROM rowrun.promotion_lock p) r
        JOIN pg_locks t ON t.locktype = 'transactionid' AND t.transactionid = r.holder AND t.mode = 'ExclusiveLock' AND t.granted
        WHERE r.holder <> '0'::xid AND t.pid IS NOT NULL AND t.pid <> pg_backend_pid()
        GROUP BY t.pid) l
    WHERE l.what IS NOT NULL GROUP BY 1, 2) h LIMIT 20) h LEFT JOIN pg_stat_activity a ON a.pid = h.pid)::text, 'null')
FROM now, due
