CREATE OR REPLACE FUNCTION rowrun.abandon_run(run_id bigint, reason text DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ended text;
BEGIN
    PERFORM check_isolation();
    SELECT e.status INTO ended FROM end_runs(ARRAY[abandon_run.run_id], ARRAY[NULL::uuid], ARRAY['FAILED'],
        ARRAY[jsonb_build_object('code', 'ABANDONED', 'detail', 'Task run abandoned' || coalesce(': ' || abandon_run.reason, ''))],
        ARRAY['NONE']) e;
    IF ended IS NULL AND NOT EXISTS (SELECT FROM task_run r WHERE r.id = abandon_run.run_id) THEN
        RAISE EXCEPTION 'run % does not exist', abandon_run.run_id USING ERRCODE = 'no_data_found', HINT = 'It may have been removed by retention.';
    ELSIF ended IS NULL THEN
        RAISE EXCEPTION 'run % is not RUNNING', abandon_run.run_id USING ERRCODE = 'RR004', HINT = 'Runs that wait are canceled: rowrun.cancel_run.';
    END IF;
    RETURN ended;
END $$;
COMMENT ON FUNCTION rowrun.abandon_run(bigint, text) IS 'Ends a RUNNING run whose executor doesn''t: FAILED, code ABANDONED, no automatic successor.';
