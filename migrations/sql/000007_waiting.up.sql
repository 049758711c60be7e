-- Why a run is not running. The same gates as in promote_runs, told to people: all causes that hold, not the first.

CREATE FUNCTION rowrun.ago(d interval) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN d >= interval '1 day' THEN extract(day FROM justify_hours(d))::int || ' d ' || extract(hour FROM justify_hours(d))::int || ' h'
                WHEN d >= interval '1 hour' THEN floor(extract(epoch FROM d) / 3600)::int || ' h ' || extract(minute FROM d)::int || ' min'
                WHEN d >= interval '1 minute' THEN floor(extract(epoch FROM d) / 60)::int || ' min ' || floor(extract(second FROM d))::int || ' s'
                ELSE round(extract(epoch FROM d), 1) || ' s' END
$$;
COMMENT ON FUNCTION rowrun.ago(interval) IS 'Internal: a duration for people.';

-- Live replicas that could run a run of this kind.
CREATE FUNCTION rowrun.able_replicas(r rowrun.task_run, t timestamptz) RETURNS TABLE (replica_id text, free bigint)
    LANGUAGE sql STABLE AS $$
    SELECT h.replica_id,
           h.concurrency - (SELECT count(*) FROM rowrun.task_run a WHERE a.replica_id = h.replica_id AND a.status = 'RUNNING')
    FROM rowrun.replica_heartbeat h CROSS JOIN (SELECT k.payload FROM rowrun.task k WHERE k.id = r.task_id) k
    WHERE rowrun.takes(h, t, r.queue, r.type, r.database_id, k.payload)
$$;
COMMENT ON FUNCTION rowrun.able_replicas(rowrun.task_run, timestamptz) IS 'Internal: live replicas that could run a run, and their free slots.';

CREATE FUNCTION rowrun.waiting(run_id bigint DEFAULT NULL)
    RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE sql STABLE AS $$
    SELECT r.id, c.cause, c.message, c.detail
    FROM (
        SELECT x.* FROM rowrun.task_run x WHERE waiting.run_id IS NOT NULL AND x.id = waiting.run_id AND x.status IN ('PENDING', 'AVAILABLE')
        UNION ALL
        SELECT x.* FROM rowrun.task_run x WHERE waiting.run_id IS NULL AND x.status IN ('PENDING', 'AVAILABLE')
    ) r
    JOIN rowrun.task k ON k.id = r.task_id
    LEFT JOIN rowrun.plan p ON p.id = r.plan_id
    CROSS JOIN LATERAL (SELECT clock_timestamp() AS t) n
    CROSS JOIN LATERAL (
        SELECT 'RUN_AT' AS cause, 'due in ' || rowrun.ago(r.run_at - n.t) AS message, jsonb_build_object('run_at', r.run_at) AS detail
        WHERE r.status = 'PENDING' AND r.run_at > n.t
      UNION ALL
        SELECT 'VERSION', 'version ' || f.version || ' is ' || f.status || ' on ' || r.database_id || ' (run ' || f.id || ')'
                   || CASE WHEN w.n > 0 THEN '; ' || w.n || CASE f.status WHEN 'PENDING' THEN ' more' ELSE '' END
                           || CASE w.n WHEN 1 THEN ' earlier version waits' ELSE ' earlier versions wait' END ELSE '' END,
               jsonb_build_object('database_id', r.database_id, 'run_id', f.id, 'version', f.version, 'waiting_run_ids', w.ids)
        FROM (SELECT u.id, u.version, u.status, u.version_key
              FROM (SELECT * FROM rowrun.task_run o WHERE o.database_id = r.database_id AND o.version_key < r.version_key
                      AND o.status = 'PENDING'
                    UNION ALL
                    SELECT * FROM rowrun.task_run o WHERE o.database_id = r.database_id AND o.version_key < r.version_key
                      AND o.status IN ('AVAILABLE', 'RUNNING')) u
              ORDER BY u.status = 'PENDING', u.version_key, u.id LIMIT 1) f
        CROSS JOIN LATERAL (
            SELECT count(DISTINCT o.version_key) AS n, coalesce(to_jsonb((array_agg(o.id ORDER BY o.version_key, o.id))[1:100]), '[]') AS ids
            FROM rowrun.task_run o WHERE o.database_id = r.database_id AND o.version_key < r.version_key
              AND o.version_key <> f.version_key AND o.status = 'PENDING') w
        WHERE r.status = 'PENDING' AND r.version_key IS NOT NULL
      UNION ALL
        SELECT 'DATABASE_BUSY', r.database_id || ' is busy: run ' || a.id || ' is ' || a.status,
               jsonb_build_object('database_id', r.database_id, 'run_id', a.id)
        FROM (SELECT u.id, u.status FROM (
                  SELECT u.id, u.status FROM rowrun.task_run u
                  WHERE u.database_id = r.database_id AND u.status IN ('AVAILABLE', 'RUNNING') AND (r.sequential OR u.sequential)
                  UNION ALL
                  SELECT u.id, u.status FROM rowrun.task_run u
                  CROSS JOIN LATERAL rowrun.closed_gate(u, false, n.t) g
                  LEFT JOIN LATERAL rowrun.plan_room(u.plan_id) room ON true
                  WHERE NOT r.sequential AND u.database_id = r.database_id AND u.status = 'PENDING' AND u.sequential
                    AND (-u.priority::bigint, u.run_at, u.id) < (-r.priority::bigint, r.run_at, r.id)
                    AND g.gate IS NULL AND coalesce(room.open AND room.slots > 0, true)) u
              ORDER BY u.status DESC, u.id LIMIT 1) a
        WHERE r.status = 'PENDING' AND r.database_id IS NOT NULL
      UNION ALL
        SELECT 'PLAN_LIMIT', 'plan ' || p.id || ': ' || p.parallel_limit - room.slots || ' of ' || p.parallel_limit || ' slots taken',
               jsonb_build_object('plan_id', p.id, 'parallel_limit', p.parallel_limit, 'run_ids', to_jsonb(ARRAY(
                   SELECT a.id FROM rowrun.task_run a WHERE a.plan_id = p.id AND a.status IN ('AVAILABLE', 'RUNNING') ORDER BY a.id LIMIT 100)))
        FROM rowrun.plan_room(p.id) room
        WHERE r.status = 'PENDING' AND p.parallel_limit IS NOT NULL AND room.slots <= 0
      UNION ALL
        SELECT 'DEPENDENCY', 'waits for ' || CASE WHEN w.total = 1 THEN 'task ' ELSE w.total || ' tasks, first of them task ' END
                   || w.first || CASE WHEN w.name <> '' THEN ' (' || w.name || ')' ELSE '' END || ', which is ' || w.status,
               jsonb_build_object('task_ids', w.ids)
        FROM (SELECT count(*) AS total, min(s.task_id) AS first, to_jsonb((array_agg(s.task_id ORDER BY s.task_id))[1:100]) AS ids,
                     (array_agg(s.status ORDER BY s.task_id))[1] AS status, (array_agg(s.name ORDER BY s.task_id))[1] AS name
              FROM rowrun.task_dependency d JOIN rowrun.task_status s ON s.task_id = d.depends_on_id
              WHERE d.task_id = r.task_id AND s.status NOT IN ('DONE', 'SKIPPED')) w
        WHERE r.status = 'PENDING' AND r.plan_id IS NOT NULL AND w.total > 0
      UNION ALL
        SELECT 'PAUSED', CASE WHEN k.paused THEN 'task ' || k.id ELSE 'plan ' || p.id END || ' is paused',
               CASE WHEN k.paused THEN jsonb_build_object('task_id', k.id) ELSE jsonb_build_object('plan_id', p.id) END
        WHERE k.paused OR coalesce(p.paused, false)
      UNION ALL
        SELECT 'PLAN_FAILED', 'task ' || f.id || CASE WHEN f.name <> '' THEN ' (' || f.name || ')' ELSE '' END || ' of plan ' || p.id || ' '
                   || CASE f.outcome WHEN 'FAILED' THEN 'failed' ELSE 'was canceled' END || ': retry or skip it',
               jsonb_build_object('plan_id', p.id, 'task_id', f.id)
        FROM (SELECT f.id, f.name, f.outcome FROM rowrun.task f
              WHERE f.plan_id = p.id AND NOT f.skipped AND f.id <> r.task_id
                AND ((p.on_failure = 'STOP' AND f.outcome = 'FAILED')
                     OR (p.on_failure = 'STOP_DATABASE' AND f.outcome IN ('FAILED', 'CANCELED')
                         AND f.database_id = r.database_id AND f.version_key < r.version_key))
                AND NOT EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = f.id AND u.plan_id IS NOT NULL
                                AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
              ORDER BY f.version_key, f.id LIMIT 1) f
        WHERE r.status = 'PENDING'
      UNION ALL
        SELECT 'NO_REPLICA', 'no live replica runs type ' || r.type || CASE r.queue WHEN 'default' THEN '' ELSE ' in queue ' || r.queue END
                   || CASE WHEN r.type IN ('SQL', 'DATABASE_MIGRATE') THEN ' on ' || coalesce(r.database_id, '?')
                           WHEN r.type = 'COMMAND' THEN ' ' || coalesce(k.payload ->> 'command', '?') ELSE '' END,
               jsonb_build_object('type', r.type, 'queue', r.queue, 'database_id', r.database_id)
        WHERE (r.status = 'AVAILABLE' OR r.database_id IS NOT NULL OR p.parallel_limit IS NOT NULL)
          AND NOT EXISTS (SELECT FROM rowrun.able_replicas(r, n.t))
      UNION ALL
        SELECT 'CAPACITY', c.replicas || CASE c.replicas WHEN 1 THEN ' replica' ELSE ' replicas' END || ' could run it, all are full',
               jsonb_build_object('replicas', c.replicas, 'replica_ids', c.ids)
        FROM (SELECT count(*) AS replicas, max(a.free) AS free, to_jsonb((array_agg(a.replica_id ORDER BY a.replica_id))[1:100]) AS ids FROM rowrun.able_replicas(r, n.t) a) c
        WHERE r.status = 'AVAILABLE' AND c.replicas > 0 AND c.free <= 0
      UNION ALL
        SELECT 'NO_REPLICA', 'run ' || a.id || ' keeps ' || CASE WHEN a.database_id = r.database_id THEN r.database_id ELSE 'a slot of plan ' || p.id END
                   || ', and no live replica can take it',
               jsonb_build_object('run_id', a.id)
        FROM (SELECT u.id, u.database_id FROM (
                  SELECT u.* FROM rowrun.task_run u WHERE u.database_id = r.database_id AND u.status IN ('AVAILABLE', 'RUNNING')
                     AND (r.sequential OR u.sequential OR u.version_key < r.version_key)
                  UNION ALL
                  SELECT u.* FROM rowrun.task_run u WHERE p.parallel_limit IS NOT NULL AND u.plan_id = p.id AND u.status IN ('AVAILABLE', 'RUNNING')) u
              WHERE u.status = 'AVAILABLE' AND NOT EXISTS (SELECT FROM rowrun.able_replicas(u, n.t)) LIMIT 1) a
        WHERE r.status = 'PENDING'
    ) c
$$;
COMMENT ON FUNCTION rowrun.waiting(bigint) IS 'Why a run is not running: all causes that hold; NULL: of every run that waits.';

INSERT INTO rowrun.migration (version) VALUES (7);
