-- What a worker gets: the task's payload, with the results that it names, its state below and the run's input laid over it. NULL:
-- a result isn't to be had.
CREATE OR REPLACE FUNCTION rowrun.worker_payload(k rowrun.task, r rowrun.task_run) RETURNS jsonb LANGUAGE sql STABLE
    RETURN CASE WHEN rowrun.names_results(r, k) 
                THEN CASE WHEN k.state IS NULL THEN '{}' ELSE jsonb_build_object('state', k.state) END || (rowrun.with_results(k.id, k.payload)).whole || r.input
                WHEN k.state IS NULL THEN k.payload || r.input ELSE jsonb_build_object('state', k.state) || k.payload || r.input END;
COMMENT ON FUNCTION rowrun.worker_payload(rowrun.task, rowrun.task_run) IS 'Internal: what a worker gets of a run.';

-- What a worker holds by a request: the answer to the claim, as often as it is asked.
CREATE OR REPLACE FUNCTION rowrun.claimed_by_request(request_id uuid)
    RETURNS TABLE (run_id bigint, claim uuid, type text, payload jsonb, attempt integer, root_id bigint, deadline timestamptz)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT r.id, worker_claim_of(claimed_by_request.request_id, r.id), r.type, worker_payload(k, r), r.attempt, r.root_id, r.deadline
    FROM worker_request q CROSS JOIN LATERAL unnest(q.run_ids) i(id)
    JOIN worker_claim c ON c.run_id = i.id AND c.claim_hash = sha256(uuid_send(worker_claim_of(claimed_by_request.request_id, i.id)))
    JOIN task_run r ON r.id = i.id JOIN task k ON k.id = r.task_id
    WHERE q.request_hash = sha256(uuid_send(claimed_by_request.request_id)) AND coalesce(r.status, '') = 'RUNNING' AND r.claim_hash = c.claim_hash
    ORDER BY r.priority DESC, r.run_at, r.id;
END $$;
COMMENT ON FUNCTION rowrun.claimed_by_request(uuid) IS 'Internal: what a worker holds by a request.';

-- Of the AVAILABLE runs that a worker may look at those that it may claim now, where there may be limits. What a limit holds back
-- is passed by from now on, so that it looks on.
CREATE OR REPLACE FUNCTION rowrun.admit_for_worker(types text[], look integer, most integer) RETURNS bigint[] LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    SET enable_seqscan = off
    SET enable_bitmapscan = off
AS $$
DECLARE
    ids bigint[];
    admitted bigint[];
BEGIN
    FOR tries IN 1..10 LOOP
        ids := ARRAY(
            WITH RECURSIVE queue AS (
                (SELECT r.queue FROM task_run r WHERE r.status = 'AVAILABLE' ORDER BY r.queue LIMIT 1)
                UNION ALL
                SELECT (SELECT r.queue FROM task_run r WHERE r.status = 'AVAILABLE' AND r.queue > q.queue ORDER BY r.queue LIMIT 1) FROM queue q WHERE q.queue IS NOT NULL
            )
            SELECT c.id FROM queue q CROSS JOIN unnest(types) y(type)
            CROSS JOIN LATERAL (
                SELECT r.id, r.priority, r.run_at FROM task_run r JOIN task k ON k.id = r.task_id LEFT JOIN plan p ON p.id = r.plan_id
                WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type AND r.limit_wait IS NULL AND NOT k.paused AND NOT k.skipped AND p.paused IS NOT TRUE
                ORDER BY r.priority DESC, r.run_at, r.id LIMIT look) c
            WHERE NOT EXISTS (SELECT FROM task_type d WHERE d.type = y.type AND d.draining)
            ORDER BY c.priority DESC, c.run_at, c.id LIMIT look);
        admitted := admit_available(in_turn(ids, NULL, types, NULL, NULL, look), most);
        EXIT WHEN cardinality(admitted) > 0 OR cardinality(ids) < look;
    END LOOP;
    RETURN admitted;
END $$;
COMMENT ON FUNCTION rowrun.admit_for_worker(text[], integer, integer) IS 'Internal: of AVAILABLE runs those that a worker may claim now.';

-- Hands AVAILABLE runs to a worker, of any queue: as the statement of replicas does (claim_runs in store/sql), and with a lease
-- for each. As many are looked at as are to be taken; where others were at these, some more. A run whose task has become another
-- type since ends, and one of whose payload a result isn't to be had. noted: this transaction holds the row of the request. Where it
-- doesn't, another one may be writing it: the index has this one wait, and it takes nothing if that one commits (rowrun.claimed is -2).
CREATE OR REPLACE FUNCTION rowrun.take_for_worker(request_id uuid, replica text, types text[], most integer, lease interval, noted boolean)
    RETURNS TABLE (run_id bigint, claim uuid, type text, payload jsonb, attempt integer, root_id bigint, deadline timestamptz) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET enable_hashjoin = off
    SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    look integer := most;
    given integer := 0;
    seen integer;
    rows integer;
    admitted bigint[]; -- NULL: no limit applies
    held_before boolean := noted;
BEGIN
    LOOP
        IF may_be_limited() AND may_limit(NULL, types) THEN
            admitted := admit_for_worker(types, look, most - given);
        END IF;
        RETURN QUERY
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
                WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type AND NOT k.paused AND NOT k.skipped AND p.paused IS NOT TRUE
                  AND (admitted IS NULL OR r.id = ANY (admitted))
                ORDER BY r.priority DESC, r.run_at, r.id LIMIT look) c
            WHERE NOT EXISTS (SELECT FROM task_type d WHERE d.type = y.type AND d.draining)
            ORDER BY c.priority DESC, c.run_at, c.id LIMIT look
        ), picked AS MATERIALIZED (
            SELECT r.id, r.ctid AS place, r.cause = 'UNTOLD' AS untold, worker_claim_of(take_for_worker.request_id, r.id) AS claim FROM task_run r
            WHERE r.ctid = ANY (ARRAY(SELECT s.place FROM seen s)) AND coalesce(r.status, '') = 'AVAILABLE'
            ORDER BY r.priority DESC, r.run_at, r.id LIMIT most - given FOR NO KEY UPDATE SKIP LOCKED
        ), asked AS MATERIALIZED ( -- once they are locked, as in claim_runs of store/sql
            SELECT array_agg(i.id) AS ids, CASE WHEN count(*) > 0 AND admitted IS NULL THEN may_be_limited() AND may_limit(NULL, take_for_worker.types) END AS limited
            FROM picked i
        ), noted_first AS ( -- before anything is taken; what turns out to be unfit has no claim
            INSERT INTO worker_request (request_hash, made_at, run_ids)
            SELECT sha256(uuid_send(take_for_worker.request_id)), clock_timestamp(), a.ids FROM asked a WHERE a.ids IS NOT NULL AND a.limited IS NOT TRUE AND NOT noted
            ON CONFLICT (request_hash) DO NOTHING RETURNING true
        ), taken AS (
            UPDATE task_run r
            SET status = 'RUNNING', prev_status = 'AVAILABLE', edited_directly = NULL, cause = NULL, replica_id = replica,
                claim_hash = sha256(uuid_send(i.claim)), started_at = now.t, updated_at = greatest(now.t, r.updated_at + interval '1 us'),
                deadline = CASE WHEN k.timeout > interval '0' THEN now.t + k.timeout END
            FROM picked i, task k, (SELECT clock_timestamp() AS t) now
            WHERE k.id = r.task_id AND r.ctid = i.place AND (SELECT a.limited IS NOT TRUE FROM asked a) AND (noted OR EXISTS (SELECT FROM noted_first))
            RETURNING r.id, i.claim, r.type, worker_payload(k, r) AS payload, r.attempt, r.root_id, r.deadline, r.claim_hash, now.t,
                CASE WHEN i.untold THEN arrival(r) || ',' ELSE '' END || transition(r) AS item, k.type AS task_type,
                r.type <> k.type AND NOT EXISTS (SELECT FROM task_type a WHERE a.type = r.type AND a.alias_of = k.type)
                OR CASE WHEN names_results(r, k) THEN (with_results(k.id, k.payload)).problem IS NOT NULL ELSE false END AS unfit
        ), held AS (
            INSERT INTO worker_claim (claim_hash, run_id, lease, until)
            SELECT x.claim_hash, x.id, take_for_worker.lease, x.t + take_for_worker.lease FROM taken x WHERE NOT x.unfit
        ), given_now AS MATERIALIZED (
            SELECT array_agg(x.id) AS ids FROM taken x WHERE NOT x.unfit
        ), noted_more AS (
            UPDATE worker_request q SET made_at = clock_timestamp(), run_ids = q.run_ids || x.ids
            FROM given_now x WHERE q.request_hash = sha256(uuid_send(take_for_worker.request_id)) AND x.ids IS NOT NULL AND noted
        ), said AS (
            SELECT announce(array_agg(x.item)) IS NULL AS x,
                   set_config('rowrun.unfit', coalesce(string_agg(x.id::text, ',') FILTER (WHERE x.unfit), ''), true) AS unfit,
                   set_config('rowrun.claimed', CASE WHEN (SELECT a.limited FROM asked a) THEN '-1' WHEN (SELECT a.ids IS NOT NULL FROM asked a) AND count(x.id) = 0 THEN '-2'
                       ELSE (SELECT count(*) FROM seen)::text END, true) AS seen
            FROM taken x
        )
        -- An outer join has said executed whichever side a plan reads first, and OFFSET keeps it one.
        SELECT x.id, x.claim, x.type, x.payload, x.attempt, x.root_id, x.deadline
        FROM (SELECT x.* FROM said s LEFT JOIN taken x ON NOT x.unfit OFFSET 0) x WHERE x.id IS NOT NULL;
        GET DIAGNOSTICS rows = ROW_COUNT;
        given := given + rows;
        seen := current_setting('rowrun.claimed')::integer;
        CONTINUE WHEN seen = -1; -- a limit was made since
        EXIT WHEN seen = -2;
        noted := noted OR rows > 0 OR current_setting('rowrun.unfit') <> '';
        IF current_setting('rowrun.unfit') <> '' THEN
            PERFORM end_runs(array_agg(r.id), array_agg(NULL::uuid), array_agg('FAILED'::text), array_agg(jsonb_build_object('code', 'BAD_INPUT', 'detail',
                coalesce(CASE WHEN names_results(r, k) THEN (with_results(k.id, k.payload)).problem END,
                         format('task type changed from %s to %s after the run was inserted: insert it again', r.type, k.type)))), array_agg('NONE'::text))
            FROM task_run r JOIN task k ON k.id = r.task_id WHERE r.id = ANY (string_to_array(current_setting('rowrun.unfit'), ',')::bigint[]);
        END IF;
        EXIT WHEN given = most OR seen < look OR look > most;
        look := 4 * most + 100;
    END LOOP;
    IF noted AND given = 0 AND NOT held_before THEN
        DELETE FROM worker_request q WHERE q.request_hash = sha256(uuid_send(take_for_worker.request_id));
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.take_for_worker(uuid, text, text[], integer, interval, boolean) IS 'Internal: hands AVAILABLE runs to a worker.';

-- A request comes in once: an equal one waits for the first, and is answered with what the first holds. It waits by an advisory lock,
-- and where a stranger's is, or was, in the way by the row of the request, which is written before anything is taken. (A subtransaction that undoes what it took is none: rows would carry its number,
-- and who reads the stream from rows knows those of transactions.) One that finds nothing leaves no trace, so that it may be asked again under the same id. One whose
-- runs have all ended since, though nobody has heard of them perhaps, is answered with nothing, as one that comes late must take
-- nothing; after 30 s it counts as new: who asks again and again with one id must not wait for ever.
CREATE OR REPLACE FUNCTION rowrun.claim_runs(request_id uuid, worker text, types text[], max integer DEFAULT 1, lease interval DEFAULT '1 min')
    RETURNS TABLE (run_id bigint, claim uuid, type text, payload jsonb, attempt integer, root_id bigint, deadline timestamptz)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    wrong text[] := worker_problem(request_id, worker, types, max, lease);
    hash bytea := sha256(uuid_send(claim_runs.request_id));
    known record;
    replica text;
    reserved boolean := false;
BEGIN
    PERFORM check_isolation();
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong[1] USING ERRCODE = 'RR003', HINT = wrong[2];
    END IF;
    IF NOT pg_try_advisory_xact_lock(request_key(hash)) THEN
        PERFORM await_equal_request(hash);
        -- Whoever holds the lock, the index has equal requests wait for each other.
        INSERT INTO worker_request (request_hash, made_at) VALUES (hash, clock_timestamp()) ON CONFLICT (request_hash) DO NOTHING;
        reserved := FOUND;
    END IF;
    SELECT q.made_at < clock_timestamp() - interval '30 s' AS old, q.results_hash IS NOT NULL AS ends INTO known
    FROM worker_request q WHERE q.request_hash = hash AND NOT reserved;
    IF known.ends THEN
        RAISE EXCEPTION 'this request was sent before, with results'
            USING ERRCODE = 'RR003', HINT = 'Give each request an id of its own; the same only where it is sent again as it was.';
    END IF;
    IF known.old THEN -- it may count as new, for one at a time
        SELECT q.made_at < clock_timestamp() - interval '30 s' AS old INTO known FROM worker_request q WHERE q.request_hash = hash FOR NO KEY UPDATE;
    END IF;
    IF known.old IS NOT NULL THEN
        RETURN QUERY SELECT * FROM claimed_by_request(claim_runs.request_id);
        IF FOUND OR NOT known.old THEN
            RETURN;
        END IF;
    END IF;
    replica := register_worker(worker, types, max, lease);
    IF replica IS NOT NULL THEN
        RETURN QUERY SELECT * FROM take_for_worker(claim_runs.request_id, replica, types, max, lease, reserved OR known.old IS NOT NULL);
        IF NOT FOUND AND current_setting('rowrun.claimed') = '-2' THEN -- an equal one was first, behind a stranger's lock that is gone
            RETURN QUERY SELECT * FROM claimed_by_request(claim_runs.request_id);
        END IF;
    END IF;
    IF reserved THEN
        DELETE FROM worker_request q WHERE q.request_hash = hash AND q.run_ids IS NULL AND q.results_hash IS NULL;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.claim_runs(uuid, text, text[], integer, interval) IS 'Hands AVAILABLE runs to a worker, each with a claim; the same request is given the same ones. A claim holds from the COMMIT.';
