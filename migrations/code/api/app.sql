CREATE OR REPLACE FUNCTION rowrun.report_progress(run_id bigint, claim uuid, progress jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    canceled boolean;
BEGIN
    UPDATE task_run r SET progress = report_progress.progress, progress_at = clock_timestamp(), prev_status = NULL
    WHERE r.id = report_progress.run_id AND r.status = 'RUNNING' AND r.claim_hash = sha256(uuid_send(report_progress.claim))
    RETURNING r.cancel_requested_at IS NOT NULL INTO canceled;
    IF canceled IS NULL THEN
        PERFORM FROM task_run r WHERE r.id = report_progress.run_id AND r.status = 'CANCELED'
            AND r.claim_hash = sha256(uuid_send(report_progress.claim));
        IF NOT FOUND THEN
            RAISE EXCEPTION 'run % is not held by this claim', report_progress.run_id
                USING ERRCODE = 'RR002', HINT = 'The run has ended or was given to another attempt; stop working on it.';
        END IF;
        canceled := true;
    END IF;
    RETURN canceled;
END $$;
COMMENT ON FUNCTION rowrun.report_progress(bigint, uuid, jsonb) IS 'Stores progress; true: a cancel was asked for.';

CREATE OR REPLACE FUNCTION rowrun.complete_run(run_id bigint, claim uuid, result jsonb DEFAULT '{}') RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ended text;
    worker boolean;
BEGIN
    PERFORM check_isolation();
    -- A worker's claim is locked before all others, as in end_worker_runs.
    PERFORM FROM worker_claim c WHERE c.run_id = complete_run.run_id AND c.claim_hash = sha256(uuid_send(complete_run.claim)) FOR UPDATE;
    worker := FOUND;
    SELECT e.status INTO ended FROM end_runs(ARRAY[complete_run.run_id], ARRAY[coalesce(complete_run.claim, gen_random_uuid())],
        ARRAY['DONE'], ARRAY[coalesce(complete_run.result, '{}')], ARRAY['NONE']) e;
    IF ended IS NULL THEN
        RAISE EXCEPTION 'run % is not held by this claim', complete_run.run_id
            USING ERRCODE = 'RR002', HINT = 'The run has ended or was given to another attempt.';
    END IF;
    IF worker THEN
        DELETE FROM worker_claim c WHERE c.claim_hash = sha256(uuid_send(complete_run.claim));
    END IF;
    RETURN ended;
END $$;
COMMENT ON FUNCTION rowrun.complete_run(bigint, uuid, jsonb) IS 'For the app that an HTTP task called: the run is DONE.';

CREATE OR REPLACE FUNCTION rowrun.fail_run(run_id bigint, claim uuid, detail text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ended text;
    worker boolean;
BEGIN
    PERFORM check_isolation();
    -- A worker's claim is locked before all others, as in end_worker_runs.
    PERFORM FROM worker_claim c WHERE c.run_id = fail_run.run_id AND c.claim_hash = sha256(uuid_send(fail_run.claim)) FOR UPDATE;
    worker := FOUND;
    SELECT e.status INTO ended FROM end_runs(ARRAY[fail_run.run_id], ARRAY[coalesce(fail_run.claim, gen_random_uuid())],
        ARRAY['FAILED'], ARRAY[jsonb_build_object('code', 'ERROR', 'detail', left(coalesce(fail_run.detail, ''), 100000))],
        ARRAY['FAILURE']) e;
    IF ended IS NULL THEN
        RAISE EXCEPTION 'run % is not held by this claim', fail_run.run_id
            USING ERRCODE = 'RR002', HINT = 'The run has ended or was given to another attempt.';
    END IF;
    IF worker THEN
        DELETE FROM worker_claim c WHERE c.claim_hash = sha256(uuid_send(fail_run.claim));
    END IF;
    RETURN ended;
END $$;
COMMENT ON FUNCTION rowrun.fail_run(bigint, uuid, text) IS 'For the app that an HTTP task called: the run FAILED; it may be retried.';
