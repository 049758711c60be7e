-- What a worker holds by a request: the answer to the claim, as often as it is asked.
CREATE OR REPLACE FUNCTION rowrun.claimed_by_request(request_id uuid)
    RETURNS TABLE (run_id bigint, claim uuid, type text, payload jsonb, attempt integer, root_id bigint, deadline timestamptz)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT r.id, worker_claim_of(claimed_by_request.request_id, r.id), r.type,
           CASE WHEN k.state IS NULL THEN k.payload || r.input ELSE jsonb_build_object('state', k.state) || k.payload || r.input END,
           r.attempt, r.root_id, r.deadline
    FROM worker_claim c JOIN task_run r ON r.id = c.run_id JOIN task k ON k.id = r.task_id
    WHERE c.request_hash = sha256(uuid_send(claimed_by_request.request_id)) AND coalesce(r.status, '') = 'RUNNING' AND r.claim_hash = c.claim_hash
    ORDER BY r.priority DESC, r.run_at, r.id;
END $$;
COMMENT ON FUNCTION rowrun.claimed_by_request(uuid) IS 'Internal: what a worker holds by a request.';

-- Hands AVAILABLE runs to a worker, of any queue: as the statement of replicas does (claim_runs in store/sql), and with a lease
-- for each. Some more are looked at than are taken, as other workers are at the same rows. A run whose task has become another
-- type since ends. How many were taken is returned.
CREATE OR REPLACE FUNCTION rowrun.take_for_worker(request_id uuid, replica text, types text[], most integer, lease interval) RETURNS integer LANGUAGE plpgsql
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
    unfit bigint[];
    details jsonb[];
BEGIN
    WITH RECURSIVE queue AS (
        (SELECT r.queue FROM task_run r WHERE r.status = 'AVAILABLE' ORDER BY r.queue LIMIT 1)
        UNION ALL
        SELECT (SELECT r.queue FROM task_run r WHERE r.status = 'AVAILABLE' AND r.queue > q.queue ORDER BY r.queue LIMIT 1) FROM queue q WHERE q.queue IS NOT NULL
    ), seen AS MATERIALIZED (
        SELECT c.place FROM queue q
        CROSS JOIN unnest(take_for_worker.types) y(type)
        CROSS JOIN LATERAL (
            SELECT r.ctid AS place, r.priority, r.run_at, r.id
            FROM task_run r
            JOIN task k ON k.id = r.task_id
            LEFT JOIN plan p ON p.id = r.plan_id
            WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type AND NOT k.paused AND p.paused IS NOT TRUE
            ORDER BY r.priority DESC, r.run_at, r.id LIMIT 2 * most + 20) c
        WHERE NOT EXISTS (SELECT FROM task_type d WHERE d.type = y.type AND d.draining)
        ORDER BY c.priority DESC, c.run_at, c.id LIMIT 2 * most + 20
    ), picked AS MATERIALIZED (
        SELECT r.ctid AS place, r.cause = 'UNTOLD' AS untold FROM task_run r
        WHERE r.ctid = ANY (ARRAY(SELECT s.place FROM seen s)) AND coalesce(r.status, '') = 'AVAILABLE'
        ORDER BY r.priority DESC, r.run_at, r.id LIMIT most FOR NO KEY UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE task_run r
        SET status = 'RUNNING', prev_status = 'AVAILABLE', edited_directly = NULL, cause = NULL, replica_id = replica,
            claim_hash = sha256(uuid_send(worker_claim_of(request_id, r.id))), started_at = now.t, updated_at = now.t,
            deadline = CASE WHEN k.timeout > interval '0' THEN now.t + k.timeout END
        FROM picked i, task k, (SELECT clock_timestamp() AS t) now
        WHERE k.id = r.task_id AND r.ctid = i.place
        RETURNING r.id, r.claim_hash, now.t, CASE WHEN i.untold THEN arrival(r) || ',' ELSE '' END || transition(r) AS item,
            r.type <> k.type AND NOT EXISTS (SELECT FROM task_type a WHERE a.type = r.type AND a.alias_of = k.type) AS unfit,
            format('task type changed from %s to %s after the run was inserted: insert it again', r.type, k.type) AS detail
    ), held AS (
        INSERT INTO worker_claim (run_id, claim_hash, request_hash, lease, until)
        SELECT x.id, x.claim_hash, sha256(uuid_send(request_id)), take_for_worker.lease, x.t + take_for_worker.lease FROM taken x WHERE NOT x.unfit
        -- What another run of this id has left, which was deleted.
        ON CONFLICT (run_id) DO UPDATE SET claim_hash = excluded.claim_hash, request_hash = excluded.request_hash, lease = excluded.lease, until = excluded.until
    )
    SELECT array_agg(x.id) FILTER (WHERE NOT x.unfit), array_agg(x.item), array_agg(x.id) FILTER (WHERE x.unfit),
           array_agg(jsonb_build_object('code', 'BAD_INPUT', 'detail', x.detail)) FILTER (WHERE x.unfit)
    INTO ids, items, unfit, details FROM taken x;
    IF items IS NOT NULL THEN
        PERFORM announce(items);
    END IF;
    IF unfit IS NOT NULL THEN
        PERFORM end_runs(unfit, array_fill(NULL::uuid, ARRAY[cardinality(unfit)]), array_fill('FAILED'::text, ARRAY[cardinality(unfit)]), details,
            array_fill('NONE'::text, ARRAY[cardinality(unfit)]));
    END IF;
    RETURN coalesce(cardinality(ids), 0);
END $$;
COMMENT ON FUNCTION rowrun.take_for_worker(uuid, text, text[], integer, interval) IS 'Internal: hands AVAILABLE runs to a worker.';

-- Whether a claim could be given anything: its request has come before, or something is AVAILABLE. Both are asked of one snapshot:
-- while an equal request is under way, what that one takes is AVAILABLE still; afterwards the request is there.
CREATE OR REPLACE FUNCTION rowrun.worker_may_find(request_hash bytea, types text[]) RETURNS boolean LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, rowrun, pg_temp
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    SET enable_seqscan = off
    SET enable_bitmapscan = off
AS $$
BEGIN
    RETURN (
        WITH RECURSIVE queue AS (
            (SELECT r.queue FROM task_run r WHERE r.status = 'AVAILABLE' ORDER BY r.queue LIMIT 1)
            UNION ALL
            SELECT (SELECT r.queue FROM task_run r WHERE r.status = 'AVAILABLE' AND r.queue > q.queue ORDER BY r.queue LIMIT 1) FROM queue q WHERE q.queue IS NOT NULL
        )
        SELECT EXISTS (SELECT FROM worker_request w WHERE w.request_hash = worker_may_find.request_hash)
            OR (SELECT true FROM queue q CROSS JOIN unnest(worker_may_find.types) y(type)
                CROSS JOIN LATERAL (SELECT FROM task_run r WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type LIMIT 1) a
                LIMIT 1) IS TRUE);
END $$;
COMMENT ON FUNCTION rowrun.worker_may_find(bytea, text[]) IS 'Internal: whether a worker''s claim could be given anything.';

-- A request comes in once: an equal one waits for the first, and is answered with what the first holds. One that finds nothing
-- leaves no trace, so that it may be asked again under the same id; most often it has written nothing either. One whose runs have
-- all ended since, though nobody has heard of them perhaps, is answered with nothing, as one that comes late must take nothing;
-- after 30 s it counts as new: who asks again and again with one id must not wait for ever.
CREATE OR REPLACE FUNCTION rowrun.claim_runs(request_id uuid, worker text, types text[], max integer DEFAULT 1, lease interval DEFAULT '1 min')
    RETURNS TABLE (run_id bigint, claim uuid, type text, payload jsonb, attempt integer, root_id bigint, deadline timestamptz)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    hash bytea := sha256(uuid_send(claim_runs.request_id));
    comes_in boolean;
    replica text;
BEGIN
    PERFORM check_isolation();
    PERFORM check_worker(worker, types, max, lease);
    PERFORM check_request(request_id);
    IF NOT worker_may_find(hash, types) THEN
        PERFORM register_worker(worker, types, max, lease);
        RETURN;
    END IF;
    INSERT INTO worker_request (request_hash, made_at) VALUES (hash, clock_timestamp()) ON CONFLICT DO NOTHING;
    comes_in := FOUND;
    IF NOT comes_in THEN
        UPDATE worker_request q SET made_at = clock_timestamp()
        WHERE q.request_hash = hash AND q.results_hash IS NULL AND q.made_at < clock_timestamp() - interval '30 s'
          AND NOT EXISTS (SELECT FROM claimed_by_request(claim_runs.request_id));
        comes_in := FOUND;
    END IF;
    IF comes_in THEN
        replica := register_worker(worker, types, max, lease);
        IF replica IS NULL OR take_for_worker(claim_runs.request_id, replica, types, max, lease) = 0 THEN
            DELETE FROM worker_request q WHERE q.request_hash = hash;
        END IF;
    END IF;
    RETURN QUERY SELECT * FROM claimed_by_request(claim_runs.request_id);
END $$;
COMMENT ON FUNCTION rowrun.claim_runs(uuid, text, text[], integer, interval) IS 'Hands AVAILABLE runs to a worker, each with a claim; the same request is given the same ones. A claim holds from the COMMIT.';
