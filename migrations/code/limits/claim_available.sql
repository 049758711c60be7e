-- Of these AVAILABLE runs, which are in the order of claims, those that a replica has slots for: at most so many, of each type as many as there
-- is room for, and below each of these priorities, ascending, as many as there are slots for. NULL: there are no such bounds.
-- Where a type has no more room, the other types go on. Where a priority has no more slots nothing goes on, as all that comes
-- behind is below it too. slack is by how much each bound may be exceeded.
CREATE OR REPLACE FUNCTION rowrun.within_bounds(run_ids bigint[], most bigint, types text[], rooms bigint[], priorities integer[], below integer[], slack bigint)
    RETURNS bigint[] LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RETURN ARRAY(
        SELECT f.id FROM (
            SELECT l.id, l.n, l.n + max(1 - l.n - l.most) OVER (ORDER BY l.n ROWS UNBOUNDED PRECEDING) AS excess
            FROM (SELECT o.id, row_number() OVER (ORDER BY o.nth) AS n,
                         least(within_bounds.most, (SELECT min(b.most) FROM unnest(priorities, below) b(priority, most) WHERE b.priority > o.priority)) AS most
                  FROM (SELECT r.id, r.priority, i.nth, y.room, row_number() OVER (PARTITION BY r.type ORDER BY i.nth) AS of_type
                        FROM unnest(run_ids) WITH ORDINALITY i(id, nth) JOIN task_run r ON r.id = i.id JOIN unnest(types, rooms) y(type, room) ON y.type = r.type
                        WHERE coalesce(r.status, '') = 'AVAILABLE') o
                  WHERE (o.of_type > o.room + slack) IS NOT TRUE) l) f
        WHERE f.excess <= slack ORDER BY f.n);
END $$;
COMMENT ON FUNCTION rowrun.within_bounds(bigint[], bigint, text[], bigint[], integer[], integer[], bigint) IS 'Internal: of AVAILABLE runs those that a replica has slots for.';

-- Whether all of these AVAILABLE runs hold their places and tokens, and no limit is put off, so that their claim asks nothing. Nothing is
-- counted: an adopted limit has given no more places than it has, and what it would give no longer since it was lowered is marked (asked_again).
-- The caller has the runs locked, by an earlier statement: whoever lowers a limit beside this, and judges, meets that lock (lock_doubtful).
CREATE OR REPLACE FUNCTION rowrun.have_places(run_ids bigint[], t timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE
    SET jit = off
    SET plan_cache_mode = force_generic_plan
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT FROM task_run r JOIN task k ON k.id = r.task_id CROSS JOIN LATERAL limits_on(r, k.payload) s
        CROSS JOIN LATERAL unnest(s.limit_keys) d(limit_key)
        JOIN concurrency_limit l ON l.id = rowrun.limit_id_of(d.limit_key)
        LEFT JOIN LATERAL (SELECT x.paid AND x.asked_again IS NOT TRUE AS sure FROM limit_holder x WHERE x.run_id = r.id AND x.limit_key = d.limit_key OFFSET 0) h ON true
        LEFT JOIN LATERAL (SELECT q.held_until FROM limit_bucket q WHERE q.limit_key = d.limit_key OFFSET 0) b ON true
        WHERE r.id = ANY (run_ids)
          AND (h.sure IS NOT TRUE OR NOT l.adopted OR greatest(l.not_before, b.held_until) > have_places.t));
END $$;
COMMENT ON FUNCTION rowrun.have_places(bigint[], timestamptz) IS 'Internal: whether nothing has to be asked of limits at the claim of these runs.';

-- AVAILABLE runs that have to be asked for their places again, of a key that one of these has, and that somebody else has locked. They may just be
-- claimed by who has not seen that the limit was made or lowered, and aren't counted among the RUNNING yet. The caller holds the lock of the
-- passes; the others are locked from here on.
CREATE OR REPLACE FUNCTION rowrun.lock_doubtful(run_ids bigint[]) RETURNS bigint[] LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    doubtful bigint[];
    locked bigint[];
BEGIN
    doubtful := ARRAY(
        SELECT DISTINCT r.id FROM (SELECT DISTINCT u.limit_key FROM limited_of(run_ids) s CROSS JOIN LATERAL unnest(s.limit_keys) u(limit_key)) k
        CROSS JOIN LATERAL (SELECT h.run_id FROM limit_holder h WHERE h.limit_key = k.limit_key AND (NOT h.paid OR h.asked_again) OFFSET 0) h
        CROSS JOIN LATERAL (SELECT x.id FROM task_run x WHERE x.id = h.run_id AND coalesce(x.status, '') = 'AVAILABLE' OFFSET 0) r);
    locked := ARRAY(SELECT r.id FROM task_run r WHERE r.id = ANY (doubtful) ORDER BY r.id FOR NO KEY UPDATE SKIP LOCKED);
    RETURN ARRAY(SELECT d.id FROM unnest(doubtful) d(id) WHERE d.id <> ALL (locked));
END $$;
COMMENT ON FUNCTION rowrun.lock_doubtful(bigint[]) IS 'Internal: runs that others may just be claiming without having asked a limit.';

-- Of these AVAILABLE runs, which are in the order of claims, those that may be claimed now, at most so many: they are locked, and hold their
-- places. Where some of them may not, they are judged under the lock of the passes: what a limit holds back is passed by from now on, until
-- there is room. Those of whom that can't be said now, as others are at it, stay as they are. Those that are beyond the bounds by now take
-- no places.
CREATE OR REPLACE FUNCTION rowrun.admit_available(run_ids bigint[], most bigint, types text[] DEFAULT NULL, rooms bigint[] DEFAULT NULL,
    priorities integer[] DEFAULT NULL, below integer[] DEFAULT NULL) RETURNS bigint[] LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz;
    may_be_held boolean;
    has_lock boolean;
    n bigint := greatest(most, 10);
    ids bigint[];
    limited bigint[] := '{}';
    held bigint[] := '{}';
    held_keys text[];
    busy bigint[] := '{}';
    counted bigint[];
BEGIN
    -- No more are locked and judged than it takes: the first of them, then the first of more.
    LOOP
        ids := ARRAY(SELECT r.id FROM task_run r WHERE r.id = ANY (run_ids[1:n]) AND coalesce(r.status, '') = 'AVAILABLE'
                     ORDER BY r.id FOR NO KEY UPDATE SKIP LOCKED);
        ids := ARRAY(SELECT r.id FROM unnest(run_ids[1:n]) WITH ORDINALITY i(id, nth) JOIN unnest(ids) r(id) ON r.id = i.id ORDER BY i.nth);
        IF rooms IS NOT NULL OR priorities IS NOT NULL THEN
            ids := within_bounds(ids, most, types, rooms, priorities, below, 0);
        END IF;
        -- Asked once they are locked: who judges by a limit that is made later meets these locks (lock_doubtful).
        may_be_held := EXISTS (
            SELECT FROM task_run r JOIN concurrency_limit l ON (l.type IS NULL OR l.type = r.type) AND (l.queue IS NULL OR l.queue = r.queue)
            WHERE r.id = ANY (ids));
        t := clock_timestamp();
        IF may_be_held AND NOT have_places(ids, t) THEN
            IF has_lock IS NULL THEN -- who waits for it here has runs locked: the wait is short, and passes skip these
                has_lock := lock_promotion();
                IF has_lock THEN
                    counted := adopt_limits();
                END IF;
            END IF;
            IF has_lock THEN
                busy := lock_doubtful(ids);
            END IF;
            t := clock_timestamp();
            SELECT coalesce(array_agg(v.id), '{}'), coalesce(array_agg(v.id) FILTER (WHERE v.cause IS NOT NULL), '{}'),
                   array_agg(v.limit_key) FILTER (WHERE v.cause IS NOT NULL)
            INTO limited, held, held_keys FROM limit_verdicts(ids, t, true, NULL, busy) v;
            IF NOT has_lock THEN
                held := limited;
            END IF;
        END IF;
        EXIT WHEN n >= cardinality(run_ids) OR cardinality(ids) - cardinality(held) >= most;
        n := 4 * n;
    END LOOP;
    IF has_lock AND cardinality(held) > 0 THEN
        UPDATE task_run r SET limit_wait = v.limit_key, prev_status = NULL FROM unnest(held, held_keys) v(id, limit_key) WHERE r.id = v.id;
    END IF;
    IF cardinality(limited) > cardinality(held) THEN -- otherwise none of those that are left takes a token
        held := held || (busy_limits(ARRAY(SELECT i.id FROM unnest(ids) i(id) WHERE i.id <> ALL (held)), counted)).ids;
    END IF;
    ids := ARRAY(SELECT i.id FROM unnest(ids) WITH ORDINALITY i(id, nth) WHERE i.id <> ALL (held) ORDER BY i.nth LIMIT most);
    IF cardinality(limited) > cardinality(held) THEN
        PERFORM redraw_limits(ids);
        PERFORM take_limits(ids, t, false);
    END IF;
    RETURN ids;
END $$;
COMMENT ON FUNCTION rowrun.admit_available(bigint[], bigint, text[], bigint[], integer[], integer[]) IS 'Internal: of AVAILABLE runs those that may be claimed now.';

-- The claim of replicas that may not take whatever comes first: where there may be limits, or a replica has reserved slots, or room
-- or timeouts of its own for types; what claim_runs in store/sql does otherwise. rooms and timeouts go with the types of the
-- request, which are those that it has room for; below goes with priorities, ascending. NULL: there are none. candidates is how many
-- there were within the bounds: where it took fewer, there may be more behind those that it has passed by. A search that looks
-- at more than it may take locks as many more of each bound, so that a run that somebody else is at keeps no slot empty.
-- Rows are updated by their places, and the planner would read the whole of a small table for that.
CREATE OR REPLACE FUNCTION rowrun.claim_available(request rowrun.claim_request, look bigint, most bigint,
    rooms bigint[], timeouts double precision[], priorities integer[], below integer[],
    OUT candidates bigint, OUT alive boolean, OUT claims rowrun.claimed_run[], OUT ranks integer[]) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET enable_hashjoin = off
    SET enable_mergejoin = off
AS $$
DECLARE
    ids bigint[];
    items text[];
    slack bigint := greatest(look - most, 0);
    bounded boolean := rooms IS NOT NULL OR priorities IS NOT NULL;
    lowest integer := coalesce((SELECT max(b.priority) FROM unnest(priorities, below) b(priority, most) WHERE b.most <= 0), -2147483648);
BEGIN
    claims := '{}';
    alive := false;
    ids := ARRAY(
        SELECT o.id FROM (
            SELECT c.*, y.room, row_number() OVER (PARTITION BY y.type ORDER BY c.priority DESC, c.run_at, c.id) AS of_type
            FROM unnest(request.queues) q(queue)
            CROSS JOIN unnest(request.types, rooms) y(type, room)
            CROSS JOIN LATERAL (
                SELECT r.id, r.priority, r.run_at FROM task_run r JOIN task k ON k.id = r.task_id LEFT JOIN plan p ON p.id = r.plan_id
                WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type AND r.limit_wait IS NULL AND r.priority >= lowest
                  AND NOT k.paused AND NOT k.skipped AND p.paused IS NOT TRUE AND can_take(r, k, request.databases, request.commands)
                ORDER BY r.priority DESC, r.run_at, r.id LIMIT least(look, y.room + slack)) c) o
        WHERE (o.of_type > o.room + slack) IS NOT TRUE
        ORDER BY o.priority DESC, o.run_at, o.id LIMIT look);
    candidates := cardinality(ids);
    IF candidates = 0 THEN
        RETURN;
    END IF;
    IF bounded THEN
        candidates := cardinality(within_bounds(ids, most, request.types, rooms, priorities, below, 0));
        ids := within_bounds(ids, most, request.types, rooms, priorities, below, slack);
    END IF;
    PERFORM FROM replica_heartbeat h WHERE h.replica_id = request.replica_id AND h.state = 'ACTIVE' FOR KEY SHARE;
    alive := FOUND;
    IF (SELECT h.paused_at IS NULL FROM replica_heartbeat h WHERE h.replica_id = request.replica_id AND h.state = 'ACTIVE') IS NOT TRUE THEN
        RETURN;
    END IF;
    ids := in_turn(ids, request.queues, request.types, request.databases, request.commands, look);
    ids := admit_available(ids, most, request.types, rooms, priorities, below);
    WITH fitting AS MATERIALIZED (
        SELECT f.place, f.untold, f.priority, f.timeout, request.used + (row_number() OVER ())::int AS n
        FROM (SELECT r.ctid AS place, r.cause = 'UNTOLD' AS untold, r.priority,
                     coalesce((SELECT y.timeout FROM unnest(request.types, timeouts) y(type, timeout) WHERE y.type = r.type LIMIT 1), request.default_timeout) AS timeout
              FROM task_run r
              WHERE r.id = ANY (ids) AND coalesce(r.status, '') = 'AVAILABLE' ORDER BY r.priority DESC, r.run_at, r.id) f
    ), taken AS (
        UPDATE task_run r
        SET status = 'RUNNING', prev_status = 'AVAILABLE', edited_directly = NULL, cause = NULL, limit_wait = NULL, replica_id = request.replica_id,
            claim_hash = substring(request.hashes FROM 32 * f.n - 31 FOR 32), started_at = now.t, updated_at = greatest(now.t, r.updated_at + interval '1 us'),
            deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => f.timeout)) > interval '0'
                            THEN now.t + coalesce(k.timeout, make_interval(secs => f.timeout)) END
        FROM fitting f, task k, (SELECT clock_timestamp() AS t) now
        WHERE k.id = r.task_id AND r.ctid = f.place
        RETURNING CASE WHEN f.untold THEN arrival(r) || ',' ELSE '' END || transition(r) AS item, f.n, f.priority,
            ROW(f.n, r.id, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, r.database_id, r.version, r.input,
                r.failures = 0 AND r.recoveries = 0, date_part('epoch', r.deadline - now.t),
                k.type, CASE WHEN r.type <> k.type THEN (SELECT a.alias_of FROM task_type a WHERE a.type = r.type) END,
                k.database_id, k.version, k.payload, k.state, k.labels ->> 'traceparent',
                date_part('epoch', k.progress_timeout), k.failure_log_level, r.retry_of, CASE WHEN r.run_at <= r.created_at THEN r.created_at END, r.available_at, r.started_at)::rowrun.claimed_run AS claim
    )
    SELECT coalesce(array_agg(c.claim), '{}'), array_agg(c.item), array_agg(c.priority ORDER BY c.n) INTO claims, items, ranks FROM taken c;
    IF items IS NOT NULL THEN
        PERFORM announce(items);
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.claim_available(rowrun.claim_request, bigint, bigint, bigint[], double precision[], integer[], integer[])
    IS 'Internal: the claim of replicas where there may be limits, or that have bounds of their own.';
