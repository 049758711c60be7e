-- Ends runs that workers hold, by their claims; what became of each, in the order of the claims: OK, CANCELED (a cancel had been
-- asked for), LOST (somebody else ended it, or the claim is none, or of another run than the one that is named with it: named_ids,
-- NULL where none is). retries as for end_runs.
-- The rows of worker_claim are locked before all others, here as in the sweep that ends those whose lease is over.
CREATE OR REPLACE FUNCTION rowrun.end_worker_runs(claims uuid[], named_ids bigint[], end_statuses text[], results jsonb[], retries text[])
    RETURNS TABLE (n integer, run_id bigint, verdict text) LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    mine record;
    ended_ids bigint[];
    ended_statuses text[];
BEGIN
    PERFORM FROM worker_claim c WHERE c.claim_hash = ANY (ARRAY(SELECT sha256(uuid_send(x)) FROM unnest(claims) x)) ORDER BY c.run_id FOR UPDATE;
    SELECT array_agg(c.run_id) AS ids, array_agg(i.claim) AS claims, array_agg(i.status) AS statuses, array_agg(i.result) AS results, array_agg(i.retry) AS retries
    INTO mine
    FROM (SELECT DISTINCT ON (x.claim) x.claim, x.named, x.status, x.result, x.retry
          FROM unnest(claims, named_ids, end_statuses, results, retries) WITH ORDINALITY x(claim, named, status, result, retry, n) ORDER BY x.claim, x.n) i
    JOIN worker_claim c ON c.claim_hash = sha256(uuid_send(i.claim)) AND c.run_id = coalesce(i.named, c.run_id);
    IF mine.ids IS NOT NULL THEN
        SELECT array_agg(e.run_id), array_agg(e.status) INTO ended_ids, ended_statuses
        FROM end_runs(mine.ids, mine.claims, mine.statuses, mine.results, mine.retries) e;
        DELETE FROM worker_claim c WHERE c.claim_hash = ANY (ARRAY(SELECT sha256(uuid_send(x)) FROM unnest(mine.claims) x));
    END IF;
    RETURN QUERY
    SELECT i.n::integer, m.run_id, CASE WHEN e.status IS NULL THEN 'LOST' WHEN e.status = 'CANCELED' AND i.status <> 'CANCELED' THEN 'CANCELED' ELSE 'OK' END
    FROM unnest(claims, end_statuses) WITH ORDINALITY i(claim, status, n)
    LEFT JOIN unnest(mine.ids, mine.claims) m(run_id, claim) ON m.claim = i.claim
    LEFT JOIN unnest(ended_ids, ended_statuses) e(run_id, status) ON e.run_id = m.run_id
    ORDER BY i.n;
END $$;
COMMENT ON FUNCTION rowrun.end_worker_runs(uuid[], bigint[], text[], jsonb[], text[]) IS 'Internal: ends runs that workers hold.';

-- results: [{"run_id", "claim", "status": "DONE", "FAILED" or "SNOOZED", "result": {}, "detail": "text of a failure", "delay": seconds of a snooze}]
CREATE OR REPLACE FUNCTION rowrun.check_results(results jsonb) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    wrong text;
BEGIN
    IF jsonb_typeof(results) IS DISTINCT FROM 'array' OR jsonb_array_length(results) > 1000 THEN
        RAISE EXCEPTION 'results is an array of at most 1000 objects'
            USING ERRCODE = 'RR003', HINT = '[{"run_id": 7, "claim": "...", "status": "DONE", "result": {}}]';
    END IF;
    SELECT format('entry %s of results: %s', x.n, w.wrong) INTO wrong
    FROM jsonb_array_elements(results) WITH ORDINALITY x(o, n)
    CROSS JOIN LATERAL (SELECT nullif(x.o -> 'result', 'null') AS result) r
    CROSS JOIN LATERAL (SELECT CASE
        WHEN jsonb_typeof(x.o) <> 'object' THEN 'it is no object'
        WHEN NOT is_uuid(x.o ->> 'claim') THEN 'claim is no uuid'
        WHEN coalesce(x.o ->> 'run_id', '1') !~ '^[0-9]{1,18}$' THEN 'run_id is no id'
        WHEN coalesce(x.o ->> 'status', '') NOT IN ('DONE', 'FAILED', 'SNOOZED') THEN 'status is none of DONE, FAILED and SNOOZED'
        WHEN x.o ->> 'status' = 'SNOOZED'
             AND CASE WHEN jsonb_typeof(x.o -> 'delay') = 'number' THEN (x.o -> 'delay')::numeric NOT BETWEEN 0 AND 3155760000 ELSE true END
            THEN 'delay is no number of seconds from 0 to 100 years'
        WHEN jsonb_typeof(r.result) <> 'object' THEN 'result is no object'
        WHEN jsonb_typeof(coalesce(x.o -> 'detail', 'null')) NOT IN ('string', 'null') THEN 'detail is no text'
        WHEN too_large(r.result)
            THEN 'result is larger than 1 MiB or deeper than 1,000 levels: keep it elsewhere and leave a reference'
        -- Of 1 MiB 64 KiB are kept for what a cancel that was asked for adds: its reason.
        WHEN x.o ->> 'status' <> 'DONE' AND octet_length(worker_result(x.o)::text) > 983040
            THEN 'result and detail of a failure are larger than 960 KiB together: keep them elsewhere and leave a reference' END AS wrong) w
    WHERE w.wrong IS NOT NULL
    ORDER BY x.n LIMIT 1;
    IF wrong IS NULL AND (SELECT count(*) > count(DISTINCT (o ->> 'claim')::uuid) FROM jsonb_array_elements(results) o) THEN
        wrong := 'results name a claim twice';
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong USING ERRCODE = 'RR003', HINT = '[{"run_id": 7, "claim": "...", "status": "DONE", "result": {}}]';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.check_results(jsonb) IS 'Internal: refuses results that finish_runs can''t read.';

CREATE OR REPLACE FUNCTION rowrun.is_uuid(value text) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN coalesce(value ~* '^[{]?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}[}]?$', false);
COMMENT ON FUNCTION rowrun.is_uuid(text) IS 'Internal: whether a text is a uuid.';

-- What stands in task_run.result for an entry of results. A failure may have a code of the worker's own, but none by which the
-- database says what it did itself.
CREATE OR REPLACE FUNCTION rowrun.worker_result(entry jsonb) RETURNS jsonb LANGUAGE sql STABLE
    RETURN coalesce(nullif(entry -> 'result', 'null'), '{}') || CASE entry ->> 'status' WHEN 'DONE' THEN '{}'
        WHEN 'SNOOZED' THEN jsonb_build_object('detail', 'Task run put off for ' || (entry ->> 'delay') || ' s' || coalesce(': ' || left(entry ->> 'detail', 100000), ''),
            'code', 'SNOOZED', 'snooze_seconds', entry -> 'delay')
        ELSE jsonb_build_object('detail', left(coalesce(entry ->> 'detail', entry #>> '{result,detail}', ''), 100000), 'code',
            CASE WHEN jsonb_typeof(entry #> '{result,code}') <> 'string' OR entry #>> '{result,code}' IN ('', 'TIMEOUT', 'PROGRESS_TIMEOUT',
                     'STALE', 'LOST_CONTACT', 'DRAINED', 'ABANDONED', 'RELEASED', 'SNOOZED', 'CANCELED') THEN 'ERROR'
                 ELSE coalesce(left(entry #>> '{result,code}', 100), 'ERROR') END) END;
COMMENT ON FUNCTION rowrun.worker_result(jsonb) IS 'Internal: the result of a run as a worker gave it.';

-- Records results, and claims what comes next in the same transaction. A request that is sent again is answered as the first time;
-- what it claimed as far as the worker holds it still. The worker's row is locked before all others, as everywhere.
CREATE OR REPLACE FUNCTION rowrun.finish_runs(request_id uuid, worker text, results jsonb, types text[] DEFAULT NULL, claim_next integer DEFAULT 0,
    lease interval DEFAULT NULL) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    wrong text[] := CASE WHEN coalesce(claim_next, 0) = 0 THEN worker_problem(request_id, 'none', '{none}', 1, interval '1 min') -- that of its id
                         ELSE worker_problem(request_id, worker, types, claim_next, coalesce(lease, interval '1 min')) END;
    hash bytea := sha256(uuid_send(finish_runs.request_id));
    replica text;
    first record;
    ended jsonb;
    claimed jsonb;
BEGIN
    PERFORM check_isolation();
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong[1] USING ERRCODE = 'RR003', HINT = wrong[2];
    END IF;
    PERFORM check_results(results);
    -- An equal request waits here for the first, which holds nothing else yet.
    INSERT INTO worker_request (request_hash, made_at, results_hash) VALUES (hash, clock_timestamp(), jsonb_hash_extended(results, 0))
    ON CONFLICT (request_hash) DO NOTHING;
    IF FOUND THEN
        IF claim_next > 0 THEN
            replica := register_worker(worker, types, claim_next, coalesce(lease, interval '1 min'));
        END IF;
        SELECT coalesce(jsonb_agg(jsonb_build_object('run_id', coalesce(e.run_id, a.named[e.n]), 'verdict', e.verdict) ORDER BY e.n), '[]') INTO ended
        FROM (SELECT array_agg((x.o ->> 'claim')::uuid ORDER BY x.n) AS claims, array_agg((x.o ->> 'run_id')::bigint ORDER BY x.n) AS named,
                     array_agg(CASE x.o ->> 'status' WHEN 'DONE' THEN 'DONE' ELSE 'FAILED' END ORDER BY x.n) AS statuses, array_agg(worker_result(x.o) ORDER BY x.n) AS results,
                     array_agg(CASE x.o ->> 'status' WHEN 'SNOOZED' THEN 'SNOOZED' ELSE 'FAILURE' END ORDER BY x.n) AS retries
              FROM jsonb_array_elements(finish_runs.results) WITH ORDINALITY x(o, n)) a
        CROSS JOIN LATERAL end_worker_runs(a.claims, a.named, a.statuses, a.results, a.retries) e
        WHERE a.claims IS NOT NULL;
        UPDATE worker_request q SET answer = ended WHERE q.request_hash = hash;
        IF replica IS NOT NULL THEN
            SELECT jsonb_agg(to_jsonb(c)) INTO claimed FROM take_for_worker(finish_runs.request_id, replica, types, claim_next, coalesce(lease, interval '1 min'), true) c;
        END IF;
    ELSE
        SELECT q.answer, q.results_hash INTO first FROM worker_request q WHERE q.request_hash = hash;
        IF first.results_hash IS DISTINCT FROM jsonb_hash_extended(results, 0) THEN
            RAISE EXCEPTION 'this request was sent before, % results', CASE WHEN first.results_hash IS NULL THEN 'without' ELSE 'with other' END
                USING ERRCODE = 'RR003', HINT = 'Give each request an id of its own; the same only where it is sent again as it was.';
        END IF;
        ended := first.answer;
        SELECT jsonb_agg(to_jsonb(c)) INTO claimed FROM claimed_by_request(finish_runs.request_id) c;
    END IF;
    RETURN jsonb_build_object('ended', ended, 'claimed', coalesce(claimed, '[]'));
END $$;
COMMENT ON FUNCTION rowrun.finish_runs(uuid, text, jsonb, text[], integer, interval) IS 'Records a worker''s results, and claims what comes next; the same request has the same answer.';

-- Gives runs back: each ends FAILED, code RELEASED, and its successor is AVAILABLE or waits as a new run would. It counts against
-- nothing. Of each claim: OK, CANCELED (a cancel had been asked for: there is no successor) or LOST.
CREATE OR REPLACE FUNCTION rowrun.release_runs(claims uuid[]) RETURNS TABLE (claim uuid, verdict text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM check_isolation();
    IF claims IS NULL THEN
        RETURN;
    END IF;
    IF cardinality(claims) > 1000 THEN
        RAISE EXCEPTION 'at most 1000 runs are released at once' USING ERRCODE = 'RR003', HINT = 'Call it several times.';
    END IF;
    RETURN QUERY
    SELECT i.claim, e.verdict
    FROM unnest(claims) WITH ORDINALITY i(claim, n)
    JOIN end_worker_runs(claims, array_fill(NULL::bigint, ARRAY[cardinality(claims)]), array_fill('FAILED'::text, ARRAY[cardinality(claims)]),
        array_fill('{"code": "RELEASED", "detail": "Task run given back by its worker"}'::jsonb, ARRAY[cardinality(claims)]),
        array_fill('RELEASED'::text, ARRAY[cardinality(claims)])) e ON e.n = i.n
    ORDER BY i.n;
END $$;
COMMENT ON FUNCTION rowrun.release_runs(uuid[]) IS 'Gives a worker''s runs back, each to a successor; of each claim OK, CANCELED or LOST.';
