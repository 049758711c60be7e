CREATE OR REPLACE FUNCTION rowrun.run_task(task bigint, input jsonb DEFAULT '{}', run_at timestamptz DEFAULT now(),
    priority integer DEFAULT NULL, idempotency_key text DEFAULT NULL, after bigint[] DEFAULT NULL)
    RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    made bigint;
BEGIN
    IF run_task.idempotency_key IS NULL THEN
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, after)
        VALUES (run_task.task, run_task.input, run_task.run_at, run_task.priority, run_task.after) RETURNING r.id INTO made;
        RETURN made;
    END IF;
    FOR i IN 1..10 LOOP
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key, after)
        VALUES (run_task.task, run_task.input, run_task.run_at, run_task.priority, run_task.idempotency_key, run_task.after)
        ON CONFLICT (task_id, idempotency_key) DO NOTHING
        RETURNING r.id INTO made;
        IF made IS NULL THEN
            SELECT r.id INTO made FROM rowrun.task_run r
            WHERE r.task_id = run_task.task AND r.idempotency_key = run_task.idempotency_key;
        END IF;
        EXIT WHEN made IS NOT NULL;
    END LOOP;
    RETURN made;
END $$;
COMMENT ON FUNCTION rowrun.run_task(bigint, jsonb, timestamptz, integer, text, bigint[]) IS 'Inserts a run of a task, which waits until the jobs of the runs in after are DONE; its id, or that of the run that has the key.';

CREATE OR REPLACE FUNCTION rowrun.run_task(task text, input jsonb DEFAULT '{}', run_at timestamptz DEFAULT now(),
    priority integer DEFAULT NULL, idempotency_key text DEFAULT NULL, after bigint[] DEFAULT NULL)
    RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    found_id bigint;
BEGIN
    SELECT k.id INTO found_id FROM rowrun.task k WHERE k.name = run_task.task AND k.name <> '' AND k.plan_id IS NULL;
    IF found_id IS NULL AND run_task.task ~ '^[0-9]{1,18}$' THEN -- as drivers send numbers
        SELECT k.id INTO found_id FROM rowrun.task k WHERE k.id = run_task.task::bigint;
    END IF;
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'there is no task named "%"', left(run_task.task, 200)
            USING ERRCODE = 'no_data_found', HINT = coalesce(
                'Did you mean ' || (SELECT quote_literal(k.name) FROM rowrun.task k WHERE lower(k.name) = lower(btrim(run_task.task)) AND k.name <> '' AND k.plan_id IS NULL LIMIT 1) || '?',
                'Define it: SELECT rowrun.define_task(name, type, payload).');
    END IF;
    RETURN rowrun.run_task(found_id, run_task.input, run_task.run_at, run_task.priority, run_task.idempotency_key, run_task.after);
END $$;
COMMENT ON FUNCTION rowrun.run_task(text, jsonb, timestamptz, integer, text, bigint[]) IS 'The same, by the name of a task without a plan, or by an id as text.';

CREATE OR REPLACE FUNCTION rowrun.run_tasks(task_ids bigint[], run_at timestamptz DEFAULT now()) RETURNS SETOF bigint
    LANGUAGE sql
BEGIN ATOMIC
    INSERT INTO rowrun.task_run (task_id, run_at)
    SELECT k.id, run_tasks.run_at
    FROM (SELECT DISTINCT u.id FROM unnest(run_tasks.task_ids) u(id)) w JOIN rowrun.task k ON k.id = w.id
    WHERE k.plan_id IS NULL
       OR (NOT k.skipped AND NOT EXISTS (
               SELECT FROM rowrun.task_run u WHERE u.task_id = k.id AND u.plan_id IS NOT NULL
               AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING')))
    ORDER BY k.id
    ON CONFLICT (task_id) WHERE plan_id IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING') DO NOTHING
    RETURNING id;
END;
COMMENT ON FUNCTION rowrun.run_tasks(bigint[], timestamptz) IS 'A run for each of these tasks, but for a plan''s tasks that are skipped or have an unfinished run; the runs made.';
