-- How many runs were due by a time and wait for nothing but a replica that looks at them or takes them, of these queues and
-- types, which are pairs; counting ends at "most". Each part goes along its own index, in its order, from the first entry on.
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
         WHERE r.judge_at <= overdue_backlog.due_by AND r.plan_id IS NULL AND r.database_id IS NULL
           AND EXISTS (SELECT FROM unnest(overdue_backlog.queues, overdue_backlog.types) s(queue, type) WHERE s.queue = r.queue AND s.type = r.type)
         ORDER BY r.judge_at LIMIT overdue_backlog.most)
        UNION ALL
        (SELECT 1 FROM rowrun.task_run r
         WHERE r.judge_at <= overdue_backlog.due_by AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
           AND EXISTS (SELECT FROM unnest(overdue_backlog.queues, overdue_backlog.types) s(queue, type) WHERE s.queue = r.queue AND s.type = r.type)
         ORDER BY r.judge_at LIMIT overdue_backlog.most)
        LIMIT overdue_backlog.most) due;
END;
COMMENT ON FUNCTION rowrun.overdue_backlog(timestamptz, text[], text[], integer) IS 'Internal: how many runs were due by a time and are not started, of pairs of queue and type.';
