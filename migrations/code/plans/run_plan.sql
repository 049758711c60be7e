CREATE OR REPLACE FUNCTION rowrun.check_plan(plan_id bigint) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    PERFORM rowrun.check_isolation();
    IF NOT EXISTS (SELECT FROM rowrun.plan p WHERE p.id = check_plan.plan_id) THEN
        RAISE EXCEPTION 'plan % does not exist', coalesce(check_plan.plan_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.plan.';
    END IF;
    -- Twice at once: the second waits until the first has committed, and finds nothing left. Not the plan's row: its
    -- runs go on ending while a user's transaction is open.
    PERFORM pg_advisory_xact_lock(1920298605, hashint8(check_plan.plan_id));
END $$;
COMMENT ON FUNCTION rowrun.check_plan(bigint) IS 'Internal: the plan exists, and nobody else makes runs of it.';

CREATE OR REPLACE FUNCTION rowrun.run_plan(plan_id bigint) RETURNS SETOF bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM rowrun.check_plan(run_plan.plan_id);
    RETURN QUERY
    INSERT INTO rowrun.task_run AS made (task_id)
    SELECT k.id FROM rowrun.task k
    WHERE k.plan_id = run_plan.plan_id AND NOT k.skipped
      AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = k.id AND r.plan_id IS NOT NULL)
    ORDER BY k.id
    ON CONFLICT (task_id) WHERE plan_id IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING') DO NOTHING
    RETURNING made.id;
END $$;
COMMENT ON FUNCTION rowrun.run_plan(bigint) IS 'A run for each NOT_STARTED task of a plan; the runs made.';
