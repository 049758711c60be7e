-- The transition PENDING -> AVAILABLE, for all passes: of runs that the caller holds, and whose gates were open at t. What
-- was promoted is announced. A run isn't AVAILABLE before it is due: some of those without gates
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
            updated_at = greatest(t, r.updated_at + interval '1 us'), cause = NULL, judge_at = NULL, limit_wait = NULL
        WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING'
        RETURNING r.id, transition(r) AS item
    )
    SELECT coalesce(array_agg(c.id), '{}'), array_agg(c.item) INTO ids, items FROM changed c;
    PERFORM announce(items);
    RETURN ids;
END $$;
COMMENT ON FUNCTION rowrun.make_available(bigint[], timestamptz) IS 'Internal: the transition PENDING to AVAILABLE; the runs that took it.';
