CREATE OR REPLACE FUNCTION rowrun.cancel_run(run_id bigint, reason text DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    run record;
    -- People hold a job's first id, which retention may have removed before the job's end.
    named bigint := coalesce((SELECT r.id FROM task_run r WHERE r.id = cancel_run.run_id), (SELECT n.id FROM last_of_job(cancel_run.run_id) n));
    last bigint := named;
BEGIN
    PERFORM check_isolation();
    -- The end of a run with a tick makes the next, by its task; that of a plan's run is the outcome of its task. Tasks are locked first.
    PERFORM FROM task k
    WHERE k.id = (SELECT r.task_id FROM task_run r WHERE r.id = named AND (r.tick IS NOT NULL OR r.plan_id IS NOT NULL))
    FOR NO KEY UPDATE;
    LOOP
        -- The chain's last run, whichever of its runs was named; again if a successor came while we waited for the lock.
        SELECT r.id INTO last FROM task_run c JOIN task_run r ON r.root_id = c.root_id AND r.attempt > 0 AND r.retry_run_id IS NULL
        WHERE c.id = named AND (c.attempt > 0 OR c.retry_run_id IS NOT NULL);
        SELECT r.id, r.status, r.retry_run_id, r.cancel_requested_at, r.replica_id INTO run
        FROM task_run r WHERE r.id = coalesce(last, named) FOR NO KEY UPDATE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'run % does not exist', cancel_run.run_id USING ERRCODE = 'no_data_found', HINT = 'It may have been removed by retention.';
        END IF;
        EXIT WHEN run.retry_run_id IS NULL;
    END LOOP;
    IF run.status IN ('PENDING', 'AVAILABLE') OR (run.status = 'RUNNING' AND run.replica_id IS NULL) THEN
        UPDATE task_run r SET status = 'CANCELED', cancel_requested_at = clock_timestamp(), cancel_reason = cancel_run.reason
        WHERE r.id = run.id;
        RETURN 'CANCELED';
    END IF;
    IF run.status = 'RUNNING' AND run.cancel_requested_at IS NULL THEN
        UPDATE task_run r SET cancel_requested_at = clock_timestamp(), cancel_reason = cancel_run.reason WHERE r.id = run.id;
    END IF;
    RETURN run.status;
END $$;
COMMENT ON FUNCTION rowrun.cancel_run(bigint, text) IS 'Cancels the last run of a chain: at once, or (RUNNING) asks for it; the status after it.';
