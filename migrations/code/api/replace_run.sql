CREATE OR REPLACE FUNCTION rowrun.replace_run(task bigint, idempotency_key text, input jsonb DEFAULT '{}', run_at timestamptz DEFAULT now(),
    priority integer DEFAULT NULL)
    RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    made bigint;
    old  record;
BEGIN
    IF replace_run.idempotency_key IS NULL THEN
        RAISE EXCEPTION 'replace_run needs an idempotency_key' USING ERRCODE = 'RR003', HINT = 'The key is how it finds the run to replace.';
    END IF;
    FOR i IN 1..10 LOOP
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
        VALUES (replace_run.task, replace_run.input, replace_run.run_at, replace_run.priority, replace_run.idempotency_key)
        ON CONFLICT (task_id, idempotency_key) DO NOTHING
        RETURNING r.id INTO made;
        IF made IS NOT NULL THEN
            RETURN made;
        END IF;
        -- A run that is AVAILABLE was due: it stays where it is, and gets what is to be done.
        UPDATE rowrun.task_run r
        SET input = replace_run.input, priority = replace_run.priority,
            run_at = CASE r.status WHEN 'PENDING' THEN replace_run.run_at ELSE r.run_at END
        WHERE r.task_id = replace_run.task AND r.idempotency_key = replace_run.idempotency_key
          AND (r.status = 'PENDING' OR r.status = 'AVAILABLE' AND coalesce(replace_run.run_at, now()) <= clock_timestamp())
        RETURNING r.id INTO made;
        IF made IS NOT NULL THEN
            RETURN made;
        END IF;
        SELECT r.id, r.status INTO old FROM rowrun.task_run r
        WHERE r.task_id = replace_run.task AND r.idempotency_key = replace_run.idempotency_key;
        IF FOUND AND old.status = 'AVAILABLE' AND replace_run.run_at > clock_timestamp() THEN
            RAISE EXCEPTION 'run % has this key and is AVAILABLE: it can''t be put off any more', old.id
                USING ERRCODE = 'RR004', HINT = 'Cancel it, and use another key; or leave run_at out, and it gets this input.';
        ELSIF FOUND AND old.status NOT IN ('PENDING', 'AVAILABLE') THEN
            RAISE EXCEPTION 'run % has this key and is %: a run is replaced until it is claimed', old.id, old.status
                USING ERRCODE = 'RR004', HINT = 'Use another key, for instance with a counter or a time in it.';
        END IF;
    END LOOP;
    RAISE EXCEPTION 'the run with this key keeps changing' USING ERRCODE = 'serialization_failure', HINT = 'Try again.';
END $$;
COMMENT ON FUNCTION rowrun.replace_run(bigint, text, jsonb, timestamptz, integer) IS 'A run with this key: the one that has it and is not claimed yet gets this input, priority and (PENDING) run_at, otherwise a new one; its id.';

CREATE OR REPLACE FUNCTION rowrun.replace_run(task text, idempotency_key text, input jsonb DEFAULT '{}', run_at timestamptz DEFAULT now(),
    priority integer DEFAULT NULL)
    RETURNS bigint LANGUAGE sql
BEGIN ATOMIC
    SELECT rowrun.replace_run(rowrun.task_named(task), idempotency_key, input, run_at, priority);
END;
COMMENT ON FUNCTION rowrun.replace_run(text, text, jsonb, timestamptz, integer) IS 'The same, by the name of a task without a plan.';
