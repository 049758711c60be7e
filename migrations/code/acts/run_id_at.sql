-- Ids are drawn in about the order of time, and no index leads from a time to a run. So half of the ids that are left is laid
-- aside again and again, as when looking up a word. A run's created_at is when its transaction began, its id was drawn later:
-- an hour is allowed for.
CREATE OR REPLACE FUNCTION rowrun.run_id_at(moment timestamptz, lowest bigint, highest bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    low bigint := greatest(lowest, coalesce((SELECT min(r.id) - 1 FROM task_run r), 0));
    high bigint := least(highest, coalesce((SELECT max(r.id) FROM task_run r), 0));
    middle bigint;
    at timestamptz;
BEGIN
    WHILE high > low LOOP
        middle := low + (high - low + 1) / 2;
        at := (SELECT r.created_at FROM task_run r WHERE r.id >= middle AND r.id <= high ORDER BY r.id LIMIT 1);
        IF at <= moment THEN
            low := middle;
        ELSE
            high := middle - 1; -- also where no run is left there
        END IF;
    END LOOP;
    RETURN low;
END $$;
COMMENT ON FUNCTION rowrun.run_id_at(timestamptz, bigint, bigint) IS 'Internal: up to which id runs were inserted by a moment, as far as ids are drawn in order.';
