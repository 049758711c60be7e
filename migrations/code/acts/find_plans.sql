-- The plans of lowest < id <= highest that a filter names, as find_runs for runs: filter is {"statuses", "q", "project", "paused", "having"};
-- having: it has a task in one of these statuses. The status of a plan and of its tasks is asked plan by plan.
CREATE OR REPLACE FUNCTION rowrun.find_plans(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer,
    OUT ids bigint[], OUT reached bigint, OUT over boolean)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    window_ids bigint[];
BEGIN
    IF filter = '{}' THEN
        look := least(look, most); -- each that it looks at is found
    END IF;
    IF newest THEN
        window_ids := ARRAY(SELECT p.id FROM plan p WHERE p.id > lowest AND p.id <= highest ORDER BY p.id DESC LIMIT look);
    ELSE
        window_ids := ARRAY(SELECT p.id FROM plan p WHERE p.id > lowest AND p.id <= highest ORDER BY p.id LIMIT look);
    END IF;
    ids := ARRAY(
        SELECT p.id FROM unnest(window_ids) WITH ORDINALITY w(id, n)
        CROSS JOIN LATERAL (
            SELECT x.id FROM plan x
            WHERE x.id = w.id
              AND (filter ->> 'q' IS NULL OR position(lower(filter ->> 'q') IN lower(x.name)) > 0)
              AND (filter ->> 'project' IS NULL OR x.project = filter ->> 'project')
              AND (filter -> 'paused' IS NULL OR x.paused = (filter ->> 'paused')::boolean)
            OFFSET 0) p
        LEFT JOIN LATERAL (
            SELECT y.status, y.not_started, y.pending, y.available, y.running, y.failed, y.canceled FROM plan_status y
            WHERE y.plan_id = p.id AND (filter -> 'statuses' IS NOT NULL OR filter -> 'having' IS NOT NULL) OFFSET 0) s ON true
        WHERE (filter -> 'statuses' IS NULL OR filter -> 'statuses' ? s.status)
          AND (filter -> 'having' IS NULL
               OR filter -> 'having' ? 'NOT_STARTED' AND s.not_started > 0 OR filter -> 'having' ? 'PENDING' AND s.pending > 0
               OR filter -> 'having' ? 'AVAILABLE' AND s.available > 0 OR filter -> 'having' ? 'RUNNING' AND s.running > 0
               OR filter -> 'having' ? 'FAILED' AND s.failed > 0 OR filter -> 'having' ? 'CANCELED' AND s.canceled > 0)
        ORDER BY w.n LIMIT most);
    over := cardinality(ids) < most AND cardinality(window_ids) < look;
    reached := CASE WHEN cardinality(ids) = most THEN ids[most]
                    WHEN over THEN CASE WHEN newest THEN lowest + 1 ELSE highest END
                    ELSE window_ids[look] END;
END $$;
COMMENT ON FUNCTION rowrun.find_plans(jsonb, boolean, bigint, bigint, integer, integer) IS 'Internal: a page of the plans that a filter names, and how far it looked.';
