-- Sessions that hold a lock which something of ours goes without or waits for, up to 20: process id, role ('?': gone), what it
-- keeps from happening. A prepared transaction holds its locks without a session: process id 0, and its name in place of a role.
-- Anybody may take advisory locks on any key, and prepare a transaction; who may update one column of a row may lock it.
--
-- Who inserts holds a slice of the clock (1920298606) while it lasts: one of the next hour is a stranger's, and so is that of now
-- where its holder may not insert (functions of users insert for those who may not, in a transaction with an id). (1920298607, 3)
-- is the listener's of a replica that says "wal", (1920298607, 2) the stream writer's: without one, or of who is none of ours (a member
-- of rowrun_replica or of the owner), they are a stranger's.
-- Rows that the passes and sweeps skip because somebody holds them name, as xmax, a transaction that is under way; of what is due, or of a lost replica,
-- the first of each kind are looked at. Sessions of ours hold such rows for a moment, one after the other, so that each look meets one while a backlog is worked on:
-- a transaction that has just begun is left out, where the role may see since when it is (its own, and those of roles that it is a member of). It is STABLE so that it becomes part of the statement that asks, which is planned once for a
-- session: planning takes some ms.
CREATE OR REPLACE FUNCTION rowrun.hold_ups() RETURNS TABLE (pid bigint, username text, what text) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce(h.pid, 0)::bigint, CASE WHEN h.pid IS NULL THEN coalesce((
               SELECT p.gid FROM pg_prepared_xacts p JOIN pg_locks x ON x.transactionid = p.transaction
               WHERE x.locktype = 'transactionid' AND x.pid IS NULL AND x.virtualtransaction = h.prepared LIMIT 1), '?')
           ELSE coalesce(a.usename, '?') END::text, h.what
    FROM (
        SELECT l.pid, l.prepared, l.what FROM (
            SELECT k.pid, k.prepared, CASE
                WHEN k.classid = 1920298606 AND k.granted
                     AND CASE WHEN mod(k.objid::bigint - now_slice.n + 2 * 4294967296, 4294967296) BETWEEN 1000 AND 720000 THEN true
                              -- That of now, or nearly: one who inserts has a transaction id while he holds it, and not the next ones.
                              WHEN mod(k.objid::bigint - now_slice.n + 2 * 4294967296 + 200, 4294967296) < 1200
                                  THEN NOT (k.ours OR has_table_privilege(k.usesysid, 'rowrun.task_run', 'INSERT') OR pg_has_role(k.usesysid, 'rowrun_client', 'MEMBER'))
                                       AND (mod(k.objid::bigint - now_slice.n + 2 * 4294967296, 4294967296) BETWEEN 4 AND 999
                                            OR NOT EXISTS (SELECT FROM pg_locks x WHERE x.locktype = 'transactionid' AND x.pid = k.pid AND x.mode = 'ExclusiveLock' AND x.granted)) END
                    THEN 'keeps INSERTs from notifying: runs are found by sweeps'
                WHEN k.classid = 1920298607 AND k.objid = 3 AND k.granted AND k.mode = 'ExclusiveLock'
                     AND (NOT k.ours OR NOT EXISTS (SELECT FROM rowrun.replica_heartbeat h WHERE h.wake_source = 'wal' AND h.state <> 'DEAD'
                                                      AND h.last_heartbeat + h.lease > clock_timestamp()))
                    THEN 'keeps INSERTs from notifying: runs are found by sweeps'
                WHEN k.classid = 1920298607 AND k.objid = 3 AND k.granted AND k.mode = 'ShareLock' AND NOT k.ours
                    THEN 'keeps replicas from being woken by the log'
                WHEN k.classid = 1920298607 AND k.objid = 2 AND k.granted
                     AND (NOT k.ours OR NOT EXISTS (SELECT FROM rowrun.deployment d JOIN rowrun.replica_heartbeat h ON h.replica_id = d.stream_replica_id
                                                    WHERE h.state <> 'DEAD' AND h.last_heartbeat + h.lease > clock_timestamp()))
                    THEN 'keeps replicas from writing the stream'
                WHEN k.classid IN (1920298605, 1920298608) AND k.granted
                     AND EXISTS (SELECT FROM pg_locks w WHERE w.locktype = 'advisory' AND w.database = k.database
                                   AND w.classid = k.classid AND w.objid = k.objid AND NOT w.granted)
                    THEN CASE k.classid WHEN 1920298605 THEN 'keeps run_plan, retry_plan or cancel_plan of a plan waiting'
                                        ELSE 'keeps plan apply waiting' END
                WHEN k.classid = 1919907698 AND k.objid = 1970171239 AND k.granted
                     AND (k.pid IS NULL OR NOT pg_has_role(k.usesysid, (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'rowrun'), 'MEMBER'))
                    THEN 'keeps migrations waiting' END AS what
            FROM (SELECT (extract(epoch FROM clock_timestamp()) * 200)::bigint % 4294967296 AS n) now_slice
            CROSS JOIN (SELECT g.pid, g.classid, g.objid, g.mode, g.granted, g.database, a.usesysid,
                               CASE WHEN g.pid IS NULL THEN g.virtualtransaction END AS prepared,
                               g.pid IS NOT NULL AND ( -- nothing of ours prepares a transaction
                               pg_has_role(a.usesysid, 'rowrun_replica', 'MEMBER')
                               OR pg_has_role(a.usesysid, (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'rowrun'), 'MEMBER')) AS ours
                        FROM pg_locks g LEFT JOIN pg_stat_activity a ON a.pid = g.pid
                        WHERE g.locktype = 'advisory' AND g.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())) k
            UNION ALL
            SELECT t.pid, CASE WHEN t.pid IS NULL THEN t.virtualtransaction END, 'holds ' || min(r.what) || ' that ' || CASE WHEN count(*) = 1 THEN 'is' ELSE 'are, with more,' END || ' due'
            FROM (
                SELECT x.xmax AS holder, 'run ' || x.id || CASE x.status WHEN 'RUNNING' THEN ' of a lost replica' ELSE '' END AS what FROM (
                    (SELECT q.id FROM rowrun.task_run q WHERE q.judge_at < (SELECT clock_timestamp() - interval '2 s') AND q.plan_id IS NULL AND q.database_id IS NULL
                     ORDER BY q.judge_at LIMIT 20)
                    UNION ALL
                    (SELECT q.id FROM rowrun.task_run q WHERE q.judge_at < (SELECT clock_timestamp() - interval '2 s') AND (q.plan_id IS NOT NULL OR q.database_id IS NOT NULL)
                     ORDER BY q.judge_at LIMIT 20)
                    UNION ALL
                    (SELECT q.id FROM rowrun.task_run q WHERE q.status = 'PENDING' AND q.cause = 'PLAN' AND q.plan_id IS NULL
                     ORDER BY q.plan_id, q.priority DESC, q.run_at, q.id LIMIT 20)
                    UNION ALL
                    (SELECT q.id FROM rowrun.task_run q WHERE q.status = 'AVAILABLE'
                     ORDER BY q.queue, q.type, q.priority DESC, q.run_at, q.id LIMIT 20)
                    UNION ALL
                    (SELECT m.run_id FROM rowrun.gate_mark m WHERE m.kind = 'RUN' ORDER BY m.id LIMIT 20)
                    UNION ALL
                    (SELECT q.id FROM rowrun.replica_heartbeat h
                     CROSS JOIN LATERAL (SELECT s.id FROM rowrun.task_run s WHERE s.status = 'RUNNING' AND s.replica_id = h.replica_id LIMIT 20) q
                     WHERE h.state = 'DEAD' OR h.last_heartbeat + h.lease < clock_timestamp() - interval '2 s' LIMIT 20)) due
                JOIN rowrun.task_run x ON x.id = due.id
                UNION ALL
                SELECT p.xmax, 'plan ' || p.id AS what
                FROM (SELECT m.plan_id FROM rowrun.gate_mark m WHERE m.kind IN ('PLAN', 'PLAN_CHANGED') ORDER BY m.id LIMIT 20) m JOIN rowrun.plan p ON p.id = m.plan_id
                UNION ALL
                SELECT p.xmax, 'the lock of the gates' AS what FROM rowrun.promotion_lock p) r
            JOIN pg_locks t ON t.locktype = 'transactionid' AND t.transactionid = r.holder AND t.mode = 'ExclusiveLock' AND t.granted
            WHERE r.holder <> '0'::xid AND t.pid IS DISTINCT FROM pg_backend_pid()
            GROUP BY 1, 2) l
        WHERE l.what IS NOT NULL GROUP BY 1, 2, 3 ORDER BY l.pid, l.what LIMIT 20) h
    LEFT JOIN pg_stat_activity a ON a.pid = h.pid
    WHERE (h.what LIKE 'holds %' AND a.xact_start > clock_timestamp() - interval '1 s') IS NOT TRUE
    ORDER BY 1, 3;
END;
COMMENT ON FUNCTION rowrun.hold_ups() IS 'Internal: sessions that hold a lock which something of ours goes without.';
