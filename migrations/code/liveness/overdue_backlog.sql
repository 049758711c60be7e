-- How many runs were due by a time and wait for nothing but a replica that looks at them or takes them, of these queues and
-- types, which are pairs; counting ends at "most". Each part goes along its own index, in its order, from the first entry on.
-- What waits for a limit counts: it starts as others end. Not where the limit lets none go, or is paused until a time. Of it, and of
-- what has found no replica for its limits' sake, at most "most" are looked at, whether they were due by then or came later.
CREATE OR REPLACE FUNCTION rowrun.overdue_backlog(due_by timestamptz, queues text[], types text[], most integer) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, rowrun, pg_temp
    SET jit = off
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET enable_hashjoin = off
    SET enable_mergejoin = off
BEGIN ATOMIC
    SELECT count(*) FROM (
        (SELECT a.one FROM unnest(overdue_backlog.queues, overdue_backlog.types) s(queue, type)
         CROSS JOIN LATERAL (
            SELECT 1 AS one FROM rowrun.task_run r
            JOIN rowrun.task k ON k.id = r.task_id
            LEFT JOIN rowrun.plan p ON p.id = r.plan_id
            WHERE r.status = 'AVAILABLE' AND r.queue = s.queue AND r.type = s.type AND r.run_at <= overdue_backlog.due_by AND r.limit_wait IS NULL
              AND NOT k.paused AND p.paused IS NOT TRUE
            ORDER BY r.priority DESC, r.run_at, r.id LIMIT overdue_backlog.most) a
         LIMIT overdue_backlog.most)
        UNION ALL
        (SELECT 1 FROM rowrun.task_run r
         WHERE r.judge_at <= overdue_backlog.due_by AND r.plan_id IS NULL AND r.database_id IS NULL AND r.limit_wait IS NULL
           AND EXISTS (SELECT FROM unnest(overdue_backlog.queues, overdue_backlog.types) s(queue, type) WHERE s.queue = r.queue AND s.type = r.type)
         ORDER BY r.judge_at LIMIT overdue_backlog.most)
        UNION ALL
        (SELECT 1 FROM rowrun.task_run r
         WHERE r.judge_at <= overdue_backlog.due_by AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL) AND r.limit_wait IS NULL
           AND EXISTS (SELECT FROM unnest(overdue_backlog.queues, overdue_backlog.types) s(queue, type) WHERE s.queue = r.queue AND s.type = r.type)
         ORDER BY r.judge_at LIMIT overdue_backlog.most)
        UNION ALL
        (SELECT 1 FROM (
            SELECT r.run_at, r.limit_keys FROM rowrun.limit_waits() k
            CROSS JOIN LATERAL (
                SELECT x.run_at, x.limit_keys, x.queue, x.type FROM rowrun.task_run x
                WHERE x.limit_wait = k.limit_key AND x.status IN ('PENDING', 'AVAILABLE')
                ORDER BY x.limit_wait, x.status, x.priority DESC, x.run_at, x.id) r
            WHERE EXISTS (SELECT FROM unnest(overdue_backlog.queues, overdue_backlog.types) s(queue, type) WHERE s.queue = r.queue AND s.type = r.type)
            UNION ALL
            SELECT r.run_at, r.limit_keys FROM unnest(overdue_backlog.queues, overdue_backlog.types) s(queue, type)
            CROSS JOIN LATERAL (
                SELECT x.run_at, x.limit_keys FROM rowrun.task_run x
                WHERE x.status = 'PENDING' AND x.cause = 'NO_REPLICA' AND x.queue = s.queue AND x.type = s.type AND x.database_id IS NULL
                ORDER BY x.queue, x.type, x.database_id) r
            LIMIT overdue_backlog.most) w
         WHERE w.run_at <= overdue_backlog.due_by
           AND NOT EXISTS (SELECT FROM unnest(w.limit_keys) u(limit_key) CROSS JOIN LATERAL (
                   SELECT FROM rowrun.concurrency_limit l
                   WHERE l.id = rowrun.limit_id_of(u.limit_key) AND (l.max_running = 0 OR l.not_before > statement_timestamp())) l))
        LIMIT overdue_backlog.most) due;
END;
COMMENT ON FUNCTION rowrun.overdue_backlog(timestamptz, text[], text[], integer) IS 'Internal: how many runs were due by a time and are not started, of pairs of queue and type.';
