-- Each cause is a statement of its own, which is asked only of runs that it may hold: half of what one of them takes is
-- its start. As one statement the causes were compiled with whatever asked for them, 0.4 s for a few runs and 5 s for 10,000.
CREATE OR REPLACE FUNCTION rowrun.waits_for(r rowrun.task_run) RETURNS TABLE (cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 2
    SET jit = off
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off -- a session that first asked while the tables were empty goes on by index
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := clock_timestamp();
    pending boolean := r.status = 'PENDING';
    task_paused boolean;
    command text;
    plan_paused boolean := false;
    parallel_limit integer;
    on_failure text;
    told boolean := false;
BEGIN
    SELECT k.paused, CASE r.type WHEN 'COMMAND' THEN k.payload ->> 'command' END INTO task_paused, command
    FROM rowrun.task k WHERE k.id = r.task_id;
    IF r.plan_id IS NOT NULL THEN
        SELECT p.paused, p.parallel_limit, p.on_failure INTO plan_paused, parallel_limit, on_failure
        FROM rowrun.plan p WHERE p.id = r.plan_id;
    END IF;

    IF pending AND r.run_at > t THEN
        RETURN QUERY SELECT 'RUN_AT', 'due in ' || rowrun.ago(r.run_at - t), jsonb_build_object('run_at', r.run_at);
        told := told OR FOUND;
    END IF;
    IF pending AND r.version_key IS NOT NULL THEN
        RETURN QUERY
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
              AND o.version_key <> f.version_key AND o.status = 'PENDING') w;
        told := told OR FOUND;
    END IF;
    IF pending AND r.database_id IS NOT NULL
       AND (EXISTS (SELECT FROM rowrun.task_run u
                    WHERE u.database_id = r.database_id AND u.status IN ('AVAILABLE', 'RUNNING') AND (r.sequential OR u.sequential))
            OR NOT r.sequential AND EXISTS (SELECT FROM rowrun.task_run u
                                            WHERE u.database_id = r.database_id AND u.status = 'PENDING' AND u.sequential)) THEN
        RETURN QUERY
        SELECT 'DATABASE_BUSY', r.database_id || ' is busy: run ' || a.id || ' is ' || a.status,
               jsonb_build_object('database_id', r.database_id, 'run_id', a.id)
        FROM (SELECT u.id, u.status FROM (
                  SELECT u.id, u.status FROM rowrun.task_run u
                  WHERE u.database_id = r.database_id AND u.status IN ('AVAILABLE', 'RUNNING') AND (r.sequential OR u.sequential)
                  UNION ALL
                  SELECT u.id, u.status FROM rowrun.task_run u
                  CROSS JOIN LATERAL rowrun.closed_gate(u, false, t) g
                  LEFT JOIN LATERAL rowrun.plan_room(u.plan_id) room ON true
                  WHERE NOT r.sequential AND u.database_id = r.database_id AND u.status = 'PENDING' AND u.sequential
                    AND (-u.priority::bigint, u.run_at, u.id) < (-r.priority::bigint, r.run_at, r.id)
                    AND g.gate IS NULL AND coalesce(room.open AND room.slots > 0, true)) u
              ORDER BY u.status DESC, u.id LIMIT 1) a;
        told := told OR FOUND;
    END IF;
    IF pending AND parallel_limit IS NOT NULL THEN
        RETURN QUERY
        SELECT 'PLAN_LIMIT', 'plan ' || r.plan_id || ': ' || parallel_limit - room.slots || ' of ' || parallel_limit || ' slots taken',
               jsonb_build_object('plan_id', r.plan_id, 'parallel_limit', parallel_limit, 'run_ids', to_jsonb(ARRAY(
                   SELECT a.id FROM rowrun.task_run a WHERE a.plan_id = r.plan_id AND a.status IN ('AVAILABLE', 'RUNNING') ORDER BY a.id LIMIT 100)))
        FROM rowrun.plan_room(r.plan_id) room
        WHERE room.slots <= 0;
        told := told OR FOUND;
    END IF;
    IF pending AND r.plan_id IS NOT NULL AND EXISTS (SELECT FROM rowrun.task_dependency d WHERE d.task_id = r.task_id) THEN
        RETURN QUERY
        SELECT 'DEPENDENCY', 'waits for ' || CASE WHEN w.total = 1 THEN 'task ' ELSE w.total || ' tasks, first of them task ' END
                   || w.first || CASE WHEN w.name <> '' THEN ' (' || w.name || ')' ELSE '' END || ', which is ' || w.status,
               jsonb_build_object('task_ids', w.ids)
        FROM (SELECT count(*) AS total, min(s.task_id) AS first, to_jsonb((array_agg(s.task_id ORDER BY s.task_id))[1:100]) AS ids,
                     (array_agg(s.status ORDER BY s.task_id))[1] AS status, (array_agg(s.name ORDER BY s.task_id))[1] AS name
              FROM rowrun.task_dependency d JOIN rowrun.task_status s ON s.task_id = d.depends_on_id
              WHERE d.task_id = r.task_id AND s.status NOT IN ('DONE', 'SKIPPED')) w
        WHERE w.total > 0;
        told := told OR FOUND;
    END IF;
    IF task_paused THEN
        RETURN QUERY SELECT 'PAUSED', 'task ' || r.task_id || ' is paused', jsonb_build_object('task_id', r.task_id);
        told := told OR FOUND;
    ELSIF plan_paused THEN
        RETURN QUERY SELECT 'PAUSED', 'plan ' || r.plan_id || ' is paused', jsonb_build_object('plan_id', r.plan_id);
        told := told OR FOUND;
    END IF;
    IF pending AND on_failure IN ('STOP', 'STOP_DATABASE') THEN
        RETURN QUERY
        SELECT 'PLAN_FAILED', 'task ' || f.id || CASE WHEN f.name <> '' THEN ' (' || f.name || ')' ELSE '' END || ' of plan ' || r.plan_id || ' '
                   || CASE f.outcome WHEN 'FAILED' THEN 'failed' ELSE 'was canceled' END || ': retry or skip it',
               jsonb_build_object('plan_id', r.plan_id, 'task_id', f.id)
        FROM rowrun.task f
        WHERE f.plan_id = r.plan_id AND NOT f.skipped AND f.id <> r.task_id
          AND ((on_failure = 'STOP' AND f.outcome = 'FAILED')
               OR (on_failure = 'STOP_DATABASE' AND f.outcome IN ('FAILED', 'CANCELED')
                   AND f.database_id = r.database_id AND f.version_key < r.version_key))
          AND NOT EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = f.id AND u.plan_id IS NOT NULL
                          AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
        ORDER BY f.version_key, f.id LIMIT 1;
        told := told OR FOUND;
    END IF;
    IF (NOT pending OR r.database_id IS NOT NULL OR parallel_limit IS NOT NULL) AND NOT EXISTS (SELECT FROM rowrun.able_replicas(r, t)) THEN
        RETURN QUERY
        SELECT 'NO_REPLICA', 'no live replica runs type ' || r.type || CASE r.queue WHEN 'default' THEN '' ELSE ' in queue ' || r.queue END
                   || CASE WHEN r.type IN ('SQL', 'DATABASE_MIGRATE') THEN ' on ' || coalesce(r.database_id, '?')
                           WHEN r.type = 'COMMAND' THEN ' ' || coalesce(command, '?') ELSE '' END,
               jsonb_build_object('type', r.type, 'queue', r.queue, 'database_id', r.database_id);
        told := told OR FOUND;
    END IF;
    IF NOT pending THEN
        RETURN QUERY
        SELECT 'CAPACITY', c.replicas || CASE c.replicas WHEN 1 THEN ' replica' ELSE ' replicas' END || ' could run it, all are full',
               jsonb_build_object('replicas', c.replicas, 'replica_ids', c.ids)
        FROM (SELECT count(*) AS replicas, max(a.free) AS free, to_jsonb((array_agg(a.replica_id ORDER BY a.replica_id))[1:100]) AS ids
              FROM rowrun.able_replicas(r, t) a) c
        WHERE c.replicas > 0 AND c.free <= 0;
        told := told OR FOUND;
    ELSIF EXISTS (SELECT FROM rowrun.task_run u WHERE u.database_id = r.database_id AND u.status = 'AVAILABLE')
          OR parallel_limit IS NOT NULL AND EXISTS (SELECT FROM rowrun.task_run u WHERE u.plan_id = r.plan_id AND u.status = 'AVAILABLE') THEN
        RETURN QUERY
        SELECT 'NO_REPLICA', 'run ' || a.id || ' keeps ' || CASE WHEN a.database_id = r.database_id THEN r.database_id ELSE 'a slot of plan ' || r.plan_id END
                   || ', and no live replica can take it',
               jsonb_build_object('run_id', a.id)
        FROM (SELECT u.id, u.database_id FROM (
                  SELECT u.* FROM rowrun.task_run u WHERE u.database_id = r.database_id AND u.status IN ('AVAILABLE', 'RUNNING')
                     AND (r.sequential OR u.sequential OR u.version_key < r.version_key)
                  UNION ALL
                  SELECT u.* FROM rowrun.task_run u WHERE parallel_limit IS NOT NULL AND u.plan_id = r.plan_id AND u.status IN ('AVAILABLE', 'RUNNING')) u
              WHERE u.status = 'AVAILABLE' AND NOT EXISTS (SELECT FROM rowrun.able_replicas(u, t)) LIMIT 1) a;
        told := told OR FOUND;
    END IF;
    IF NOT told AND greatest(r.created_at, r.run_at, r.available_at) < t - interval '2 s' THEN
        -- Nothing but a lock: the passes go by a row that somebody holds.
        RETURN QUERY
        SELECT 'NO_REPLICA', 'replicas pass it by: session ' || l.pid || coalesce(' of ' || a.usename, '') || ' holds ' || min(x.what)
                   || '; to end it: SELECT pg_terminate_backend(' || l.pid || ')',
               jsonb_build_object('pid', l.pid, 'user', a.usename)
        FROM (SELECT u.xmax AS holder, 'the run' AS what FROM rowrun.task_run u WHERE u.id = r.id
              UNION ALL SELECT p.xmax, 'plan ' || p.id FROM rowrun.plan p WHERE p.id = r.plan_id
              UNION ALL SELECT p.xmax, 'the lock of the gates' FROM rowrun.promotion_lock p
              WHERE pending AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)) x
        JOIN pg_locks l ON l.locktype = 'transactionid' AND l.transactionid = x.holder AND l.mode = 'ExclusiveLock' AND l.granted
        LEFT JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE x.holder <> '0'::xid AND l.pid <> pg_backend_pid() AND (a.xact_start > t - interval '2 s') IS NOT TRUE
          -- Whose transactions this role may not see the start of may be passes of a moment.
          AND (a.xact_start IS NOT NULL OR pg_has_role(a.usesysid, 'rowrun_replica', 'MEMBER') IS NOT TRUE)
        GROUP BY l.pid, a.usename;
    END IF;
END
$$;
COMMENT ON FUNCTION rowrun.waits_for(rowrun.task_run) IS 'Internal: all causes that hold for a run that waits.';
