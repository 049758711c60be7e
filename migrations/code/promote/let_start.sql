-- What runs do that the caller holds and whose gates were open at t, for all passes: those that the request takes become
-- RUNNING, the others AVAILABLE. Without a request (NULL) all of them do. ids are all that were promoted, claims those that
-- also were claimed.
CREATE OR REPLACE FUNCTION rowrun.let_start(run_ids bigint[], t timestamptz, request rowrun.claim_request,
    OUT ids bigint[], OUT claims rowrun.claimed_run[]) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    taken record;
BEGIN
    ids := '{}';
    claims := '{}';
    IF octet_length(request.hashes) > 32 * request.used THEN
        taken := make_running(run_ids, t, request);
        ids := taken.ids;
        claims := taken.claims;
    END IF;
    IF cardinality(ids) < cardinality(run_ids) THEN
        ids := ids || make_available(run_ids, t); -- those that are PENDING still
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.let_start(bigint[], timestamptz, rowrun.claim_request) IS 'Internal: promotes runs, and claims those that the request takes.';

-- The same where some are sequential runs of databases: somebody may have made another run there AVAILABLE by hand, or be
-- at it. That costs one run, not the batch.
CREATE OR REPLACE FUNCTION rowrun.let_start_singly(run_ids bigint[], t timestamptz, request rowrun.claim_request,
    OUT ids bigint[], OUT claims rowrun.claimed_run[]) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    step record;
    run bigint;
BEGIN
    BEGIN
        step := let_start(run_ids, t, request);
        ids := step.ids;
        claims := step.claims;
        RETURN;
    EXCEPTION WHEN unique_violation OR lock_not_available THEN
        ids := '{}';
        claims := '{}';
        IF cardinality(run_ids) = 1 THEN
            PERFORM write_causes(run_ids, '{DATABASE}');
            INSERT INTO gate_mark (kind, run_id) VALUES ('RUN', run_ids[1]);
            RETURN;
        END IF;
    END;
    FOR run IN SELECT r.id FROM task_run r WHERE r.id = ANY (run_ids) ORDER BY r.priority DESC, r.run_at, r.id LOOP
        step := let_start_singly(ARRAY[run], t, request);
        ids := ids || step.ids;
        claims := claims || step.claims;
        request.used := request.used + cardinality(step.claims);
    END LOOP;
END $$;
COMMENT ON FUNCTION rowrun.let_start_singly(bigint[], timestamptz, rowrun.claim_request) IS 'Internal: let_start, one by one where that fails for all.';

-- The same where some have their turn in a FAIR limit: where the request takes fewer than start, those it takes are the first in the
-- order of turns; and where runs of theirs are AVAILABLE that had their turn before, a claim takes these first.
CREATE OR REPLACE FUNCTION rowrun.let_start_in_turn(run_ids bigint[], turns bigint[], exclusive boolean, t timestamptz, request rowrun.claim_request,
    OUT ids bigint[], OUT claims rowrun.claimed_run[]) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    room integer := coalesce(octet_length(request.hashes) / 32 - request.used, 0);
    ordered bigint[];
    step record;
BEGIN
    ids := '{}';
    claims := '{}';
    IF room > 0 AND EXISTS (
        SELECT FROM concurrency_limit l JOIN limit_holder h ON h.share_id = l.id
        CROSS JOIN LATERAL (SELECT FROM task_run x WHERE x.id = h.run_id AND coalesce(x.status, '') = 'AVAILABLE' OFFSET 0) x
        WHERE l.share = 'FAIR')
    THEN
        room := 0;
    END IF;
    ordered := run_ids;
    IF room BETWEEN 1 AND cardinality(run_ids) - 1 THEN
        ordered := ARRAY(
            SELECT r.id FROM (SELECT x.id, x.priority, CASE WHEN o.n IS NULL THEN x.run_at ELSE min(x.run_at) OVER (PARTITION BY o.n IS NULL, x.priority) END AS placed_at, o.n
                              FROM unnest(turns) WITH ORDINALITY o(id, n)
                              FULL JOIN (SELECT y.id, y.priority, y.run_at FROM task_run y WHERE y.id = ANY (run_ids)) x ON x.id = o.id) r
            WHERE r.id IS NOT NULL ORDER BY r.priority DESC, r.placed_at, r.n, r.id);
        ids := ordered[room + 1:];
        ordered := ordered[1:room];
    END IF;
    IF room = 0 THEN
        request := NULL;
    END IF;
    IF exclusive THEN
        step := let_start_singly(ordered, t, request);
    ELSE
        step := let_start(ordered, t, request);
    END IF;
    claims := step.claims;
    IF cardinality(ids) > 0 THEN
        IF exclusive THEN
            ids := step.ids || (let_start_singly(ids, t, NULL)).ids;
        ELSE
            ids := step.ids || (let_start(ids, t, NULL)).ids;
        END IF;
    ELSE
        ids := step.ids;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.let_start_in_turn(bigint[], bigint[], boolean, timestamptz, rowrun.claim_request) IS 'Internal: let_start, in the order of turns.';
