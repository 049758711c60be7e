-- What takes places and tokens, and gives them back. Who takes holds the lock of the passes.

-- Runs that have just been promoted or claimed, at t. judged: limits were asked before, by an earlier snapshot. One that was made since, or
-- given a rate, may have fewer tokens than they need: they take none of it, and it is asked at their claim. A place of a limit without a rate
-- says so (asked_again is false and not NULL), as it may be given one before anybody sees that place.
CREATE OR REPLACE FUNCTION rowrun.take_limits(run_ids bigint[], t timestamptz, judged boolean) RETURNS void LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT s.id, k.limit_key, CASE WHEN k.limit_key = f.limit_key THEN rowrun.limit_id_of(k.limit_key) END AS share_id
        FROM limited_of(run_ids) s LEFT JOIN LATERAL fair_key(s.limit_keys) f ON true CROSS JOIN LATERAL unnest(s.limit_keys) k(limit_key)
        WHERE (SELECT h.paid FROM limit_holder h WHERE h.run_id = s.id AND h.limit_key = k.limit_key) IS NOT TRUE
    ), asked AS MATERIALIZED (
        SELECT d.limit_key, d.n, m.rated, m.tokens, judged AND m.rated AND d.n > floor(m.tokens + 0.000001) AS dry
        FROM (SELECT w.limit_key, count(*) AS n FROM wanted w GROUP BY 1) d CROSS JOIN LATERAL limit_room(d.limit_key, take_limits.t) m
    ), held AS (
        INSERT INTO limit_holder AS h (run_id, limit_key, paid, share_id, asked_again)
        SELECT w.id, w.limit_key, a.dry IS NOT TRUE, w.share_id, CASE WHEN a.rated IS NOT TRUE THEN false END
        FROM wanted w FULL JOIN asked a ON a.limit_key = w.limit_key
        ON CONFLICT (run_id, limit_key) DO UPDATE
        SET paid = excluded.paid, share_id = CASE WHEN judged THEN excluded.share_id ELSE h.share_id END,
            asked_again = CASE WHEN judged THEN excluded.asked_again ELSE h.asked_again END
        WHERE NOT h.paid
    )
    -- A row that another one has written meanwhile, as an edit by hand does beside passes, has what it lacks then taken off what a full bucket has left.
    INSERT INTO limit_bucket AS b (limit_key, tokens, counted_at)
    SELECT a.limit_key, coalesce(l.burst, l.rate) - a.n, take_limits.t
    FROM asked a CROSS JOIN LATERAL (SELECT c.rate, c.burst FROM concurrency_limit c WHERE c.id = rowrun.limit_id_of(a.limit_key) OFFSET 0) l
    WHERE a.rated AND NOT a.dry
    ON CONFLICT (limit_key) DO UPDATE
    SET tokens = excluded.tokens - (
            SELECT greatest(coalesce(coalesce(l.burst, l.rate) - b.tokens
                                     - greatest(extract(epoch FROM excluded.counted_at - b.counted_at), 0)::double precision * l.rate / extract(epoch FROM l.per)::double precision, 0), 0)
            FROM concurrency_limit l WHERE l.id = rowrun.limit_id_of(b.limit_key)),
        counted_at = greatest(excluded.counted_at, b.counted_at);
    IF (SELECT true FROM limit_database b LIMIT 1) THEN
        PERFORM mark_limit_databases(ARRAY(SELECT DISTINCT h.limit_key FROM limit_holder h WHERE h.run_id = ANY (run_ids)), take_limits.t);
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.take_limits(bigint[], timestamptz, boolean) IS 'Internal: runs take places and tokens of their limits.';

-- Of these runs, which are about to start, those of which somebody holds a bucket, as who deletes a limit does until the commit; each with the key
-- along which it waits. The buckets of the others are locked now. So do those wait for which the judgement gave a place of a limit that was made or got
-- other keys since the adoption, which knows none that have a place; counted are limits that it has counted though they aren't adopted.
CREATE OR REPLACE FUNCTION rowrun.busy_limits(run_ids bigint[], counted bigint[], OUT ids bigint[], OUT limit_keys text[]) LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    buckets text[];
    locked text[] := '{}';
    uncounted bigint[] := ARRAY(SELECT l.id FROM concurrency_limit l WHERE NOT l.adopted AND l.id <> ALL (coalesce(counted, '{}')));
BEGIN
    ids := '{}';
    limit_keys := '{}';
    buckets := ARRAY(SELECT b.limit_key FROM (SELECT DISTINCT u.limit_key FROM limited_of(run_ids) s CROSS JOIN LATERAL unnest(s.limit_keys) u(limit_key)) k
                     CROSS JOIN LATERAL (SELECT x.limit_key FROM limit_bucket x WHERE x.limit_key = k.limit_key OFFSET 0) b);
    IF cardinality(buckets) > 0 THEN
        locked := ARRAY(SELECT b.limit_key FROM limit_bucket b WHERE b.limit_key = ANY (buckets) ORDER BY b.limit_key FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    INSERT INTO gate_mark (kind, limit_key) SELECT 'LIMIT', u.id || ':' FROM unnest(uncounted) u(id); -- that of the change may be taken
    IF cardinality(locked) < cardinality(buckets) OR cardinality(uncounted) > 0 THEN
        SELECT coalesce(array_agg(h.id), '{}'), coalesce(array_agg(coalesce((SELECT f.limit_key FROM fair_key(h.limit_keys) f), h.limit_key)), '{}') INTO ids, limit_keys
        FROM (SELECT s.id, s.limit_keys, (SELECT u.limit_key FROM unnest(s.limit_keys) u(limit_key)
                                          WHERE u.limit_key = ANY (buckets) AND u.limit_key <> ALL (locked)
                                             OR rowrun.limit_id_of(u.limit_key) = ANY (uncounted) LIMIT 1) AS limit_key
              FROM limited_of(run_ids) s) h
        WHERE h.limit_key IS NOT NULL;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.busy_limits(bigint[], bigint[]) IS 'Internal: runs that can''t take a place or token now, as somebody holds their bucket or has just changed their limit.';

-- Keys that were not drawn at the INSERT, because the limit was made since, before runs start: their ends look at the row.
CREATE OR REPLACE FUNCTION rowrun.redraw_limits(run_ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    UPDATE task_run r SET limit_keys = s.limit_keys, prev_status = NULL
    FROM (SELECT x.id, x.limit_keys FROM limited_of(run_ids) x) s
    WHERE r.id = s.id AND r.limit_keys IS DISTINCT FROM s.limit_keys;
END $$;
COMMENT ON FUNCTION rowrun.redraw_limits(bigint[]) IS 'Internal: writes the keys of runs whose limits were made after their INSERT.';

-- What the mark says where a place has come free: its key. Where keys share slots alone, any of them may have it, so that one mark does for all of the limit; a key that is given places beside an end
-- may then have to be found by a sweep. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.freed_key(key text, share_id bigint) RETURNS TABLE (limit_key text) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce((SELECT l.id || ':' FROM rowrun.concurrency_limit l WHERE l.id = freed_key.share_id AND num_nonnulls(l.max_running, l.rate, l.not_before) = 0), freed_key.key);
END;
COMMENT ON FUNCTION rowrun.freed_key(text, bigint) IS 'Internal: what is looked at where a place of a limit has come free.';

-- Runs that have ended: their places come free, each with a mark. A target that answered 429 with Retry-After holds back the
-- limits of the run that have a rate, for all.
CREATE OR REPLACE FUNCTION rowrun.free_limits(run_ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    WITH freed AS (
        DELETE FROM limit_holder h WHERE h.run_id = ANY (run_ids) RETURNING h.run_id, h.limit_key, h.share_id
    ), held AS (
        INSERT INTO limit_bucket AS b (limit_key, held_until)
        SELECT f.limit_key, max(r.finished_at + make_interval(secs => least(greatest((r.result ->> 'retry_after_s')::numeric, 0), 86400)::float8))
        FROM freed f JOIN task_run r ON r.id = f.run_id
        JOIN concurrency_limit l ON l.id = rowrun.limit_id_of(f.limit_key) AND l.rate IS NOT NULL
        WHERE r.type = 'HTTP' AND r.result ->> 'code' = 'HTTP_429' AND jsonb_typeof(r.result -> 'retry_after_s') = 'number'
        GROUP BY f.limit_key ORDER BY f.limit_key
        ON CONFLICT (limit_key) DO UPDATE SET held_until = greatest(excluded.held_until, b.held_until)
    )
    INSERT INTO gate_mark (kind, limit_key) SELECT DISTINCT 'LIMIT', k.limit_key FROM freed f CROSS JOIN LATERAL freed_key(f.limit_key, f.share_id) k;
END $$;
COMMENT ON FUNCTION rowrun.free_limits(bigint[]) IS 'Internal: places that ended runs had come free.';

-- Limits that were made or lowered since the last pass: what is RUNNING counts, and of what is AVAILABLE the first 20,000, which are asked
-- again at their claim. Each under the key that limits_on says. Under the lock of the passes, by a snapshot behind it, so that nothing is promoted beside it
-- that it doesn't see. Where somebody holds a limit's row its runs are counted all the same, by each pass until the row is free.
-- Runs without gates are promoted beside it, by who may not have seen the limit: who promotes them locks them before asking (promote_ungated), so that
-- what is due and has been locked by somebody (xmax; it may be over) has a place until it has started, is set aside or has ended (limit_room).
CREATE OR REPLACE FUNCTION rowrun.adopt_limits() RETURNS bigint[] LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    l rowrun.concurrency_limit;
    latest rowrun.concurrency_limit;
    t timestamptz;
    counted bigint[] := '{}';
BEGIN
    FOR l IN SELECT * FROM concurrency_limit c WHERE NOT c.adopted ORDER BY c.id LOOP
        SELECT * INTO latest FROM concurrency_limit c WHERE c.id = l.id AND NOT c.adopted FOR NO KEY UPDATE SKIP LOCKED;
        l := CASE WHEN latest.id IS NOT NULL THEN latest ELSE l END;
        t := clock_timestamp();
        counted := counted || l.id;
        INSERT INTO limit_holder (run_id, limit_key, paid)
        SELECT x.id, x.limit_key, false
        FROM (SELECT a.id, coalesce((SELECT d.limit_key FROM unnest(a.limit_keys) d(limit_key) WHERE starts_with(d.limit_key, l.id || ':') LIMIT 1),
                                    limit_key_of(l.id, l.key_path, k.payload || a.input)) AS limit_key
              FROM (SELECT r.id, r.task_id, r.input, r.limit_keys FROM task_run r
                    WHERE r.status = 'RUNNING' AND (l.type IS NULL OR r.type = l.type) AND (l.queue IS NULL OR r.queue = l.queue)
                    UNION ALL
                    (SELECT r.id, r.task_id, r.input, r.limit_keys FROM task_run r
                     WHERE r.status = 'AVAILABLE' AND (l.type IS NULL OR r.type = l.type) AND (l.queue IS NULL OR r.queue = l.queue)
                     LIMIT 20000)
                    UNION ALL
                    SELECT d.id, d.task_id, d.input, d.limit_keys
                    FROM (SELECT r.id, r.task_id, r.input, r.limit_keys, r.type, r.queue, r.xmax::text <> '0' AS locked FROM task_run r
                          WHERE r.judge_at <= t AND r.plan_id IS NULL AND r.database_id IS NULL AND coalesce(r.status, '') = 'PENDING'
                          ORDER BY r.judge_at LIMIT 20000) d
                    WHERE d.locked AND (l.type IS NULL OR d.type = l.type) AND (l.queue IS NULL OR d.queue = l.queue)) a
              JOIN task k ON k.id = a.task_id) x
        WHERE x.limit_key IS NOT NULL AND NOT EXISTS (SELECT FROM limit_holder h WHERE h.run_id = x.id AND h.limit_key = x.limit_key)
        ON CONFLICT DO NOTHING;
        -- A place that somebody else has locked, as a cancel does until its commit, is marked by a later adoption. One that was taken by a pass
        -- which had not seen the rate, and wasn't committed when that was written, has no token.
        UPDATE limit_holder h SET asked_again = true, paid = l.rate IS NULL OR h.asked_again IS NULL WHERE h.ctid = ANY (ARRAY(
            SELECT o.ctid FROM limit_holder o WHERE starts_with(o.limit_key, l.id || ':') AND o.paid AND o.asked_again IS NOT TRUE
               AND EXISTS (SELECT FROM task_run r WHERE r.id = o.run_id AND coalesce(r.status, '') = 'AVAILABLE')
            FOR NO KEY UPDATE SKIP LOCKED));
        CONTINUE WHEN latest.id IS NULL OR EXISTS (
            SELECT FROM limit_holder o WHERE starts_with(o.limit_key, l.id || ':') AND o.paid AND o.asked_again IS NOT TRUE
               AND EXISTS (SELECT FROM task_run r WHERE r.id = o.run_id AND coalesce(r.status, '') = 'AVAILABLE'));
        -- It may hold sequential runs back, behind which others then needn't wait.
        INSERT INTO gate_mark (kind, database_id)
        SELECT DISTINCT 'DATABASE', r.database_id FROM task_run r
        WHERE r.status = 'PENDING' AND r.cause IN ('DATABASE', 'PLAN') AND r.sequential AND r.database_id > ''
          AND (l.type IS NULL OR r.type = l.type) AND (l.queue IS NULL OR r.queue = l.queue);
        UPDATE concurrency_limit c SET adopted = true WHERE c.id = l.id;
    END LOOP;
    RETURN counted;
END $$;
COMMENT ON FUNCTION rowrun.adopt_limits() IS 'Internal: counts the runs that were there before a limit; these limits.';

-- What ends by other ways than ours leaves behind, and buckets that are full again. For sweeps.
CREATE OR REPLACE FUNCTION rowrun.tidy_limits() RETURNS void LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM limit_holder h WHERE h.ctid = ANY (ARRAY(
        SELECT x.ctid FROM limit_holder x
        WHERE NOT EXISTS (SELECT FROM task_run r WHERE r.id = x.run_id AND coalesce(r.status, '') IN ('PENDING', 'AVAILABLE', 'RUNNING'))
        LIMIT 1000 FOR UPDATE SKIP LOCKED));
    DELETE FROM limit_bucket b WHERE b.ctid = ANY (ARRAY(
        SELECT x.ctid FROM limit_bucket x
        LEFT JOIN concurrency_limit l ON l.id = rowrun.limit_id_of(x.limit_key)
        WHERE (x.held_until > clock_timestamp()) IS NOT TRUE
          AND (l.rate IS NULL OR x.tokens IS NULL
               -- In seconds: an interval of so many periods may lead out of time.
               OR extract(epoch FROM clock_timestamp() - x.counted_at)::double precision * l.rate
                  > extract(epoch FROM l.per)::double precision * (coalesce(l.burst, l.rate) - x.tokens))
        LIMIT 1000 FOR UPDATE OF x SKIP LOCKED));
    DELETE FROM limit_database b WHERE b.ctid = ANY (ARRAY(
        SELECT x.ctid FROM limit_database x
        WHERE (SELECT true FROM task_run r WHERE r.database_id = x.database_id AND r.status = 'PENDING' AND r.cause = 'DATABASE' LIMIT 1) IS NULL
        LIMIT 1000 FOR UPDATE SKIP LOCKED));
    DELETE FROM limit_turn w WHERE w.ctid = ANY (ARRAY(
        SELECT x.ctid FROM limit_turn x LEFT JOIN limit_clock c ON c.limit_id = x.limit_id
        WHERE x.priority IS NULL AND (x.starts_at > c.virtual_time) IS NOT TRUE LIMIT 1000 FOR UPDATE OF x SKIP LOCKED));
END $$;
COMMENT ON FUNCTION rowrun.tidy_limits() IS 'Internal: removes what limits don''t need any more.';
