-- What runs do that the caller holds and whose gates were open at t, for all passes: those that the request takes become
-- RUNNING, the others AVAILABLE. Without a request (NULL) all of them do. ids are all that were promoted, claims those that
-- also were claimed.
CREATE OR REPLACE FUNCTION rowrun.let_start(run_ids bigint[], t timestamptz, request rowrun.claim_request,
    OUT ids bigint[], OUT claims rowrun.claim[]) LANGUAGE plpgsql
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
    OUT ids bigint[], OUT claims rowrun.claim[]) LANGUAGE plpgsql
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
