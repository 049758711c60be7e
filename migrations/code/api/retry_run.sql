CREATE OR REPLACE FUNCTION rowrun.retry_run(run_id bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    run record;
    made bigint;
BEGIN
    PERFORM check_isolation();
    PERFORM FROM task k WHERE k.id = (SELECT r.task_id FROM task_run r WHERE r.id = retry_run.run_id AND r.plan_id IS NOT NULL)
        FOR NO KEY UPDATE;
    SELECT * INTO run FROM task_run r WHERE r.id = retry_run.run_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'run % does not exist', retry_run.run_id USING ERRCODE = 'no_data_found', HINT = 'It may have been removed by retention.';
    END IF;
    IF run.retry_run_id IS NOT NULL THEN
        RETURN run.retry_run_id;
    END IF;
    IF run.status NOT IN ('FAILED', 'CANCELED') THEN
        RAISE EXCEPTION 'run % is %: only FAILED and CANCELED runs are retried', run.id, run.status
            USING ERRCODE = 'RR004', HINT = 'To do a DONE task once more, insert another run.';
    END IF;
    IF run.plan_id IS NOT NULL AND run.id <> (SELECT s.last_run_id FROM task_status s WHERE s.task_id = run.task_id) THEN
        RAISE EXCEPTION 'run % is not the newest of task %', run.id, run.task_id
            USING ERRCODE = 'RR004', HINT = 'Retry the newest run of that task.';
    END IF;
    IF EXISTS (SELECT FROM task k WHERE k.id = run.task_id AND k.skipped) THEN
        RAISE EXCEPTION 'task % is skipped', run.task_id USING ERRCODE = 'RR004', HINT = 'Unskip it first.';
    END IF;
    made := next_run_id();
    UPDATE task_run r SET retry_run_id = made WHERE r.id = run.id;
    INSERT INTO task_run (id, task_id, retry_of, root_id, attempt, input, priority, creator)
    VALUES (made, run.task_id, run.id, run.root_id, least(run.attempt, 2147483646) + 1, run.input, run.priority, calling_role());
    IF NOT is_quiet() THEN
        PERFORM notify_look();
    END IF;
    RETURN made;
END $$;
COMMENT ON FUNCTION rowrun.retry_run(bigint) IS 'A successor for a FAILED or CANCELED run; its id, or that of the one it has.';
