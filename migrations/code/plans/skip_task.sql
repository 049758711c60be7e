CREATE OR REPLACE FUNCTION rowrun.set_skipped(task_id bigint, skip boolean, reason text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    of_plan bigint;
    before record;
BEGIN
    PERFORM check_isolation();
    SELECT k.plan_id INTO of_plan FROM task k WHERE k.id = set_skipped.task_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'task % does not exist', coalesce(set_skipped.task_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.task.';
    END IF;
    SELECT p.round, p.announced_round INTO before FROM plan p WHERE p.id = of_plan FOR NO KEY UPDATE;
    UPDATE task k SET skipped = skip, skip_reason = CASE WHEN skip THEN reason END
    WHERE k.id = set_skipped.task_id AND k.skipped <> skip;
    IF FOUND AND of_plan IS NOT NULL THEN
        IF before.announced_round >= before.round THEN
            PERFORM begin_round(of_plan, least(before.round, 2147483646) + 1, false);
        END IF;
        PERFORM announce_plans(ARRAY[of_plan]);
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.set_skipped(bigint, boolean, text) IS 'Internal: skips a task or takes that back.';

CREATE OR REPLACE FUNCTION rowrun.skip_task(task_id bigint, reason text DEFAULT NULL) RETURNS void LANGUAGE sql
    SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$ SELECT rowrun.set_skipped(task_id, true, reason) $$;
COMMENT ON FUNCTION rowrun.skip_task(bigint, text) IS 'The task counts as done; refused while a run of it is AVAILABLE or RUNNING.';

CREATE OR REPLACE FUNCTION rowrun.unskip_task(task_id bigint) RETURNS void LANGUAGE sql
    SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$ SELECT rowrun.set_skipped(task_id, false, NULL) $$;
COMMENT ON FUNCTION rowrun.unskip_task(bigint) IS 'The task is as its last run left it.';
