-- Of these AVAILABLE runs, which are in the order of claims, those that may be claimed now, at most so many: they are locked, and hold their
-- places. Where limits apply to some, under the lock of the passes: what a limit holds back is passed by from now on, until there is room. Those
-- of whom that can't be said now, as others are at it, stay as they are.
CREATE OR REPLACE FUNCTION rowrun.admit_available(run_ids bigint[], most bigint) RETURNS bigint[] LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz;
    has_lock boolean := false;
    ids bigint[];
    limited bigint[];
    held bigint[];
    held_keys text[];
BEGIN
    IF EXISTS (SELECT FROM limited_of(run_ids)) THEN
        has_lock := lock_promotion();
        IF has_lock THEN
            PERFORM adopt_limits();
        END IF;
    END IF;
    ids := ARRAY(SELECT r.id FROM task_run r WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'AVAILABLE'
                 ORDER BY r.id FOR NO KEY UPDATE SKIP LOCKED);
    ids := ARRAY(SELECT r.id FROM unnest(run_ids) WITH ORDINALITY i(id, n) JOIN unnest(ids) r(id) ON r.id = i.id ORDER BY i.n);
    t := clock_timestamp();
    SELECT coalesce(array_agg(v.id), '{}'), coalesce(array_agg(v.id) FILTER (WHERE v.cause IS NOT NULL), '{}'),
           array_agg(v.limit_key) FILTER (WHERE v.cause IS NOT NULL)
    INTO limited, held, held_keys FROM limit_verdicts(ids, t, true) v;
    IF NOT has_lock THEN
        held := limited;
    ELSIF cardinality(held) > 0 THEN
        UPDATE task_run r SET limit_wait = v.limit_key, prev_status = NULL FROM unnest(held, held_keys) v(id, limit_key) WHERE r.id = v.id;
    END IF;
    ids := ARRAY(SELECT i.id FROM unnest(ids) WITH ORDINALITY i(id, n) WHERE i.id <> ALL (held) ORDER BY i.n LIMIT most);
    IF cardinality(limited) > cardinality(held) THEN
        PERFORM redraw_limits(ids);
        PERFORM take_limits(ids, t);
    END IF;
    RETURN ids;
END $$;
COMMENT ON FUNCTION rowrun.admit_available(bigint[], bigint) IS 'Internal: of AVAILABLE runs those that may be claimed now.';

-- The claim of replicas where there may be limits: what claim_runs in store/sql does otherwise. candidates is how many
-- there were: where it took fewer than it might, there may be more behind those that it has passed by.
-- Rows are updated by their places, and the planner would read the whole of a small table for that.
CREATE OR REPLACE FUNCTION rowrun.claim_available(request rowrun.claim_request, look bigint, most bigint,
    OUT candidates bigint, OUT alive boolean, OUT claims rowrun.claim[]) LANGUAGE plpgsql
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
BEGIN
    claims := '{}';
    alive := false;
    ids := ARRAY(
        SELECT c.id FROM unnest(request.queues) q(queue)
        CROSS JOIN unnest(request.types) y(type)
        CROSS JOIN LATERAL (
            SELECT r.id, r.priority, r.run_at FROM task_run r JOIN task k ON k.id = r.task_id LEFT JOIN plan p ON p.id = r.plan_id
            WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type AND r.limit_wait IS NULL
              AND NOT k.paused AND p.paused IS NOT TRUE AND can_take(r, k, request.databases, request.commands)
            ORDER BY r.priority DESC, r.run_at, r.id LIMIT look) c
        ORDER BY c.priority DESC, c.run_at, c.id LIMIT look);
    candidates := cardinality(ids);
    IF candidates = 0 THEN
        RETURN;
    END IF;
    PERFORM FROM replica_heartbeat h WHERE h.replica_id = request.replica_id AND h.state = 'ACTIVE' FOR KEY SHARE;
    alive := FOUND;
    IF (SELECT h.paused_at IS NULL FROM replica_heartbeat h WHERE h.replica_id = request.replica_id AND h.state = 'ACTIVE') IS NOT TRUE THEN
        RETURN;
    END IF;
    ids := admit_available(in_turn(ids, request.queues, request.types, request.databases, request.commands, look), most);
    WITH fitting AS MATERIALIZED (
        SELECT f.place, f.untold, request.used + (row_number() OVER ())::int AS n
        FROM (SELECT r.ctid AS place, r.cause = 'UNTOLD' AS untold FROM task_run r
              WHERE r.id = ANY (ids) AND coalesce(r.status, '') = 'AVAILABLE' ORDER BY r.priority DESC, r.run_at, r.id) f
    ), taken AS (
        UPDATE task_run r
        SET status = 'RUNNING', prev_status = 'AVAILABLE', edited_directly = NULL, cause = NULL, limit_wait = NULL, replica_id = request.replica_id,
            claim_hash = substring(request.hashes FROM 32 * f.n - 31 FOR 32), started_at = now.t, updated_at = now.t,
            deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => request.default_timeout)) > interval '0'
                            THEN now.t + coalesce(k.timeout, make_interval(secs => request.default_timeout)) END
        FROM fitting f, task k, (SELECT clock_timestamp() AS t) now
        WHERE k.id = r.task_id AND r.ctid = f.place
        RETURNING CASE WHEN f.untold THEN arrival(r) || ',' ELSE '' END || transition(r) AS item,
            ROW(f.n, r.id, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, r.database_id, r.version, r.input,
                r.failures = 0 AND r.recoveries = 0, date_part('epoch', r.deadline - now.t),
                k.type, CASE WHEN r.type <> k.type THEN (SELECT a.alias_of FROM task_type a WHERE a.type = r.type) END,
                k.database_id, k.version, k.payload, k.state, k.labels ->> 'traceparent',
                date_part('epoch', k.progress_timeout), k.failure_log_level)::rowrun.claim AS claim
    )
    SELECT coalesce(array_agg(c.claim), '{}'), array_agg(c.item) INTO claims, items FROM taken c;
    IF items IS NOT NULL THEN
        PERFORM announce(items);
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.claim_available(rowrun.claim_request, bigint, bigint) IS 'Internal: the claim of replicas where there may be limits.';
