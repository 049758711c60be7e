-- What limits hold back waits for one key, and is found again along it: task_run.limit_wait.

-- As many PENDING runs as these keys, of limits without turns, have room for, in the order of promotion; more of a key than the pass takes on at once come next.
-- One that somebody holds, who may be canceling it, keeps no place from those behind it: these come, too, and are locked.
CREATE OR REPLACE FUNCTION rowrun.waiting_for_limits(limit_keys text[], t timestamptz, most integer) RETURNS TABLE (id bigint) LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH key AS MATERIALIZED (
        SELECT k.limit_key, CASE WHEN m.held_until > waiting_for_limits.t THEN 0
                                 ELSE least(greatest(waiting_for_limits.most / cardinality(waiting_for_limits.limit_keys), 20), coalesce(m.places, 1000),
                                            CASE WHEN m.rated THEN greatest(floor(m.tokens + 0.000001), 0)::bigint ELSE 1000 END) END AS room
        FROM (SELECT DISTINCT u.limit_key FROM unnest(waiting_for_limits.limit_keys) u(limit_key)) k
        LEFT JOIN LATERAL limit_room(k.limit_key, waiting_for_limits.t) m ON true
    ), first AS MATERIALIZED (
        SELECT w.id, k.limit_key, k.room FROM key k CROSS JOIN LATERAL (
            SELECT r.id FROM task_run r WHERE r.limit_wait = k.limit_key AND r.status = 'PENDING'
            ORDER BY r.priority DESC, r.run_at, r.id LIMIT k.room) w
    ), free AS MATERIALIZED (
        SELECT r.id FROM task_run r WHERE r.id = ANY (ARRAY(SELECT f.id FROM first f)) FOR NO KEY UPDATE SKIP LOCKED
    )
    SELECT f.id FROM first f
    UNION ALL
    SELECT w.id FROM (SELECT f.limit_key, f.room FROM first f LEFT JOIN free l ON l.id = f.id GROUP BY f.limit_key, f.room HAVING count(l.id) < count(*)) k
    CROSS JOIN LATERAL (
        SELECT r.id FROM task_run r WHERE r.limit_wait = k.limit_key AND r.status = 'PENDING'
        ORDER BY r.priority DESC, r.run_at, r.id LIMIT k.room FOR NO KEY UPDATE SKIP LOCKED) w;
END $$;
COMMENT ON FUNCTION rowrun.waiting_for_limits(text[], timestamptz, integer) IS 'Internal: runs for which their limits have room.';

-- AVAILABLE runs that a limit held back at their claim: as many as it may let go now are there for claims again, which ask it anew. A token
-- is needed by those that haven't taken one.
CREATE OR REPLACE FUNCTION rowrun.reopen_available(limit_keys text[], t timestamptz) RETURNS integer LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    opened integer;
    closed_keys text[];
BEGIN
    closed_keys := ARRAY(SELECT k.limit_key FROM (SELECT DISTINCT u.limit_key FROM unnest(limit_keys) u(limit_key)) k
                         WHERE EXISTS (SELECT FROM task_run r WHERE r.limit_wait = k.limit_key AND r.status = 'AVAILABLE'));
    IF cardinality(closed_keys) = 0 THEN
        RETURN 0;
    END IF;
    WITH running AS MATERIALIZED (
        SELECT h.limit_key, count(*) AS n FROM task_run a JOIN limit_holder h ON h.run_id = a.id
        WHERE a.status = 'RUNNING' AND h.limit_key = ANY (closed_keys) GROUP BY 1
    ), state AS MATERIALIZED (
        SELECT k.limit_key, CASE WHEN m.held_until > reopen_available.t THEN 0
                                 ELSE greatest(least(coalesce(m.max_running - coalesce(n.n, 0), 1000), 1000), 0) END AS places,
               CASE WHEN m.rated THEN greatest(floor(m.tokens + 0.000001), 0)::bigint END AS tokens
        FROM unnest(closed_keys) k(limit_key) LEFT JOIN LATERAL limit_room(k.limit_key, reopen_available.t) m ON true
        LEFT JOIN running n ON n.limit_key = k.limit_key
    ), first AS MATERIALIZED (
        SELECT w.id FROM state s CROSS JOIN LATERAL (
            SELECT x.id FROM (
                SELECT p.* FROM (
                    SELECT r.id, r.priority, r.run_at FROM limit_holder h JOIN task_run r ON r.id = h.run_id
                    WHERE h.limit_key = s.limit_key AND h.paid AND r.limit_wait = s.limit_key AND coalesce(r.status, '') = 'AVAILABLE'
                    ORDER BY r.priority DESC, r.run_at, r.id LIMIT s.places FOR NO KEY UPDATE OF r SKIP LOCKED) p
                UNION ALL
                SELECT u.* FROM (
                    SELECT r.id, r.priority, r.run_at FROM task_run r
                    WHERE r.limit_wait = s.limit_key AND r.status = 'AVAILABLE'
                      AND (SELECT h.paid FROM limit_holder h WHERE h.run_id = r.id AND h.limit_key = s.limit_key) IS NOT TRUE
                    ORDER BY r.priority DESC, r.run_at, r.id LIMIT least(s.places, s.tokens) FOR NO KEY UPDATE OF r SKIP LOCKED) u) x
            ORDER BY x.priority DESC, x.run_at, x.id LIMIT s.places) w
    )
    UPDATE task_run r SET limit_wait = NULL, prev_status = NULL FROM first f WHERE r.id = f.id;
    GET DIAGNOSTICS opened = ROW_COUNT;
    IF opened > 0 THEN
        PERFORM notify_look();
    END IF;
    RETURN opened;
END $$;
COMMENT ON FUNCTION rowrun.reopen_available(text[], timestamptz) IS 'Internal: AVAILABLE runs that limits may let go are there for claims again.';

-- Runs that are due and have nothing to wait for but a limit, for the pass of those without gates: they wait for its mark. Those
-- that no limit applies to are returned.
CREATE OR REPLACE FUNCTION rowrun.put_limited_aside(run_ids bigint[]) RETURNS bigint[] LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    aside bigint[];
BEGIN
    WITH moved AS (
        UPDATE task_run r
        SET cause = 'LIMIT', judge_at = NULL, prev_status = NULL, limit_keys = s.limit_keys,
            limit_wait = coalesce((SELECT f.limit_key FROM fair_key(s.limit_keys) f), CASE WHEN r.limit_wait = ANY (s.limit_keys) THEN r.limit_wait ELSE s.limit_keys[1] END)
        FROM (SELECT x.id, x.limit_keys FROM limited_of(run_ids) x) s
        WHERE r.id = s.id
        RETURNING r.id, r.limit_wait
    ), marked AS (
        INSERT INTO gate_mark (kind, limit_key) SELECT DISTINCT 'LIMIT', m.limit_wait FROM moved m
    )
    SELECT coalesce(array_agg(m.id), '{}') INTO aside FROM moved m;
    RETURN CASE WHEN cardinality(aside) = 0 THEN run_ids ELSE ARRAY(SELECT i.id FROM unnest(run_ids) i(id) WHERE i.id <> ALL (aside)) END;
END $$;
COMMENT ON FUNCTION rowrun.put_limited_aside(bigint[]) IS 'Internal: runs that a limit applies to wait for its mark; the others.';

-- Writes which key PENDING runs wait for, that the caller holds. causes are the verdicts on all that was judged with them. Returns whether the row
-- of one of them didn't say all its keys, as a limit was made after its INSERT.
CREATE OR REPLACE FUNCTION rowrun.write_limit_waits(run_ids bigint[], waits text[], causes text[]) RETURNS boolean LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    crowded_databases text[];
    crowded_plans bigint[];
    undrawn boolean;
BEGIN
    SELECT coalesce(array_agg(DISTINCT r.database_id) FILTER (WHERE v.cause = 'DATABASE'), '{}'),
           coalesce(array_agg(DISTINCT r.plan_id) FILTER (WHERE v.cause = 'PLAN'), '{}')
    INTO crowded_databases, crowded_plans
    FROM unnest(run_ids, causes) v(id, cause) JOIN task_run r ON r.id = v.id WHERE v.cause IN ('DATABASE', 'PLAN');
    -- Other runs may have waited behind them that needn't now, or were judged behind them just now: on their databases, and for
    -- their plans.
    INSERT INTO gate_mark (kind, database_id, plan_id)
    SELECT DISTINCT CASE WHEN x.database_id IS NOT NULL THEN 'DATABASE' ELSE 'PLAN' END, x.database_id, x.plan_id
    FROM unnest(run_ids, waits) v(id, limit_key) JOIN task_run r ON r.id = v.id
    CROSS JOIN LATERAL (VALUES (r.database_id, NULL::bigint), (NULL, r.plan_id)) x(database_id, plan_id)
    WHERE v.limit_key IS NOT NULL AND num_nonnulls(x.database_id, x.plan_id) = 1
      AND (r.cause IS DISTINCT FROM 'LIMIT' OR x.database_id = ANY (crowded_databases) OR x.plan_id = ANY (crowded_plans));
    WITH held AS MATERIALIZED (
        SELECT r.id, v.limit_key, s.limit_keys, r.limit_keys IS DISTINCT FROM s.limit_keys AS undrawn
        FROM unnest(run_ids, waits) v(id, limit_key) JOIN task_run r ON r.id = v.id JOIN limited_of(run_ids) s ON s.id = v.id
        WHERE v.limit_key IS NOT NULL
    ), written AS (
        UPDATE task_run r SET cause = 'LIMIT', judge_at = NULL, prev_status = NULL, limit_keys = h.limit_keys, limit_wait = h.limit_key
        FROM held h
        WHERE r.id = h.id AND (h.undrawn OR (r.cause, r.limit_wait, r.judge_at) IS DISTINCT FROM ('LIMIT', h.limit_key, NULL::timestamptz))
    )
    SELECT bool_or(h.undrawn) INTO undrawn FROM held h;
    RETURN coalesce(undrawn, false);
END $$;
COMMENT ON FUNCTION rowrun.write_limit_waits(bigint[], text[], text[]) IS 'Internal: writes which limit PENDING runs wait for.';

-- What follows from a pass for the keys that it has looked at: where there is room and somebody waits, it is looked at again; where
-- time opens it, the first that waits is judged then. full_keys: a token waits for a free slot of a replica, which nobody
-- tells of; nor does who looked at a run before the limit was made, and holds its place no more.
CREATE OR REPLACE FUNCTION rowrun.follow_limits(limit_keys text[], full_keys text[], OUT more boolean, OUT next_ms double precision) LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz := clock_timestamp();
BEGIN
    WITH state AS MATERIALIZED (
        SELECT k.limit_key, w.id, w.judge_at,
               CASE WHEN m.held_until > t THEN m.held_until
                    WHEN m.places <= 0 THEN CASE WHEN EXISTS (
                        SELECT FROM limit_holder h
                        CROSS JOIN LATERAL (SELECT FROM task_run x WHERE x.id = h.run_id AND coalesce(x.status, '') = 'PENDING' AND x.judge_at <= t OFFSET 0) x
                        WHERE h.limit_key = k.limit_key AND NOT h.paid) THEN t + interval '200 ms' ELSE 'infinity' END
                    WHEN m.rated AND m.tokens < 0.999999 THEN coalesce(m.next_token_at, t)
                    WHEN k.limit_key = ANY (full_keys) THEN t + interval '200 ms'
                    WHEN EXISTS (SELECT FROM concurrency_limit l WHERE l.id = rowrun.limit_id_of(k.limit_key) AND l.share = 'FAIR') THEN 'infinity' END AS opens_at
        FROM (SELECT DISTINCT u.limit_key FROM unnest(limit_keys) u(limit_key)
              -- Neither places nor time open what waits for its turn alone.
              WHERE NOT EXISTS (SELECT FROM concurrency_limit l WHERE l.id = rowrun.limit_id_of(u.limit_key) AND l.share = 'FAIR'
                                AND num_nonnulls(l.rate, l.not_before) = 0)) k
        CROSS JOIN LATERAL (
            SELECT r.id, r.judge_at FROM task_run r WHERE r.limit_wait = k.limit_key AND r.status = 'PENDING'
            ORDER BY r.priority DESC, r.run_at, r.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) w
        LEFT JOIN LATERAL limit_room(k.limit_key, t) m ON true
    ), timed AS (
        UPDATE task_run r SET judge_at = s.opens_at, prev_status = NULL FROM state s
        WHERE r.id = s.id AND s.opens_at < 'infinity' AND r.judge_at IS DISTINCT FROM s.opens_at
    ), again AS (
        INSERT INTO gate_mark (kind, limit_key) SELECT 'LIMIT', s.limit_key FROM state s WHERE s.opens_at IS NULL RETURNING id
    )
    SELECT EXISTS (SELECT FROM again), (SELECT extract(epoch FROM min(s.opens_at) - t) * 1000 FROM state s WHERE s.opens_at < 'infinity')
    INTO more, next_ms;
END $$;
COMMENT ON FUNCTION rowrun.follow_limits(text[], text[]) IS 'Internal: what follows from a pass for the limits that it has looked at.';
