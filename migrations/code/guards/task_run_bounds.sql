-- Bounds of what users and executors give a run.
CREATE OR REPLACE FUNCTION rowrun.task_run_bounds(r rowrun.task_run) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF jsonb_typeof(r.input) <> 'object' OR rowrun.too_large(r.input) THEN
        RAISE EXCEPTION 'input of a run is a JSON object of at most 1 MiB and 1,000 levels'
            USING ERRCODE = 'check_violation', HINT = 'Keep large data elsewhere and pass a reference.';
    ELSIF jsonb_typeof(r.result) <> 'object' OR rowrun.too_large(r.result) THEN
        RAISE EXCEPTION 'result of a run is a JSON object of at most 1 MiB and 1,000 levels'
            USING ERRCODE = 'check_violation', HINT = 'Keep large data elsewhere and leave a reference.';
    ELSIF rowrun.too_large(r.progress) THEN
        RAISE EXCEPTION 'progress of a run is at most 1 MiB and 1,000 levels' USING ERRCODE = 'check_violation', HINT = 'Report less.';
    ELSIF r.run_at < timestamptz '1900-01-01 00:00+00' OR r.run_at >= timestamptz '9999-01-01 00:00+00' THEN
        RAISE EXCEPTION 'run_at lies between the years 1900 and 9999' USING ERRCODE = 'check_violation', HINT = 'For "now" leave it out.';
    ELSIF r.idempotency_key = '' OR octet_length(r.idempotency_key) > 500 THEN
        RAISE EXCEPTION 'idempotency_key has 1 to 500 bytes' USING ERRCODE = 'check_violation', HINT = 'For none use NULL.';
    ELSIF octet_length(r.cancel_reason) > 10000 THEN
        RAISE EXCEPTION 'cancel_reason has at most 10,000 bytes' USING ERRCODE = 'check_violation', HINT = 'Shorten it.';
    ELSIF octet_length(r.replica_id) > 100 THEN
        RAISE EXCEPTION 'replica_id has at most 100 bytes' USING ERRCODE = 'check_violation', HINT = 'Name a replica of rowrun.replica_heartbeat.';
    ELSIF least(r.created_at, r.available_at, r.started_at, r.finished_at, r.updated_at, r.deadline, r.cancel_requested_at,
                r.progress_at, r.tick, r.missed_at, r.judge_at) < timestamptz '1900-01-01 00:00+00'
          OR greatest(r.created_at, r.available_at, r.started_at, r.finished_at, r.updated_at, r.deadline, r.cancel_requested_at,
                      r.progress_at, r.tick, r.missed_at, r.judge_at) >= timestamptz '9999-12-31 00:00+00'
    THEN
        RAISE EXCEPTION 'times of a run lie between the years 1900 and 9999' USING ERRCODE = 'check_violation', HINT = 'For "now" use now().';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.task_run_bounds(rowrun.task_run) IS 'Internal: refuses what is too large or out of range.';
