-- The transition PENDING -> AVAILABLE, for all passes: of runs that the caller holds, and whose gates were open at t. What
-- was promoted is announced, and noted for the claim. A run isn't AVAILABLE before it is due: some of those without gates
-- may have been inserted after t.
-- Whoever calls it first in a session has its plan made: the settings are its own.
CREATE OR REPLACE FUNCTION rowrun.make_available(run_ids bigint[], t timestamptz) RETURNS bigint[] LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
AS $$
DECLARE
    ids bigint[];
    items text[];
BEGIN
    WITH changed AS (
        UPDATE task_run r
        SET status = 'AVAILABLE', prev_status = 'PENDING', available_at = greatest(t, r.run_at),
            updated_at = greatest(t, r.updated_at + interval '1 us'), hold = NULL, judge_at = NULL
        WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING'
        RETURNING r.id, transition(r) AS item
    )
    SELECT coalesce(array_agg(c.id), '{}'), array_agg(c.item) INTO ids, items FROM changed c;
    PERFORM announce(items), note_promoted(ids);
    RETURN ids;
END $$;
COMMENT ON FUNCTION rowrun.make_available(bigint[], timestamptz) IS 'Internal: the transition PENDING to AVAILABLE; the runs that took it.';

-- The same where some are sequential runs of databases: somebody may have made another run there AVAILABLE by hand, or be
-- at it. That costs one run, not the batch.
CREATE OR REPLACE FUNCTION rowrun.make_available_singly(run_ids bigint[], t timestamptz) RETURNS bigint[] LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    ids bigint[] := '{}';
    run bigint;
BEGIN
    BEGIN
        RETURN make_available(run_ids, t);
    EXCEPTION WHEN unique_violation OR lock_not_available THEN
        IF cardinality(run_ids) = 1 THEN
            PERFORM hold_runs(run_ids, '{DATABASE}');
            INSERT INTO gate_mark (kind, run_id) VALUES ('RUN', run_ids[1]);
            RETURN '{}';
        END IF;
    END;
    FOREACH run IN ARRAY run_ids LOOP
        ids := ids || make_available_singly(ARRAY[run], t);
    END LOOP;
    RETURN ids;
END $$;
COMMENT ON FUNCTION rowrun.make_available_singly(bigint[], timestamptz) IS 'Internal: PENDING to AVAILABLE, one by one where that fails for all.';
