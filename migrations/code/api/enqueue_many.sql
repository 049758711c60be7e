-- Many runs of one task. The array's elements are their inputs; keys, where given, are their idempotency_keys.
CREATE OR REPLACE FUNCTION rowrun.insert_many(task bigint, inputs jsonb, idempotency_keys text[], on_conflict text, run_at timestamptz, priority integer)
    RETURNS SETOF bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF jsonb_typeof(inputs) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'inputs is an array of JSON objects' USING ERRCODE = 'RR003', HINT = 'For one run use rowrun.run_task.';
    ELSIF cardinality(idempotency_keys) <> jsonb_array_length(inputs) THEN
        RAISE EXCEPTION 'there are % inputs and % idempotency_keys', jsonb_array_length(inputs), cardinality(idempotency_keys)
            USING ERRCODE = 'RR003', HINT = 'One key for each input; NULL for none.';
    ELSIF on_conflict = 'SKIP' THEN
        RETURN QUERY
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
        SELECT insert_many.task, e.input, insert_many.run_at, insert_many.priority, idempotency_keys[e.n]
        FROM jsonb_array_elements(inputs) WITH ORDINALITY AS e(input, n) ORDER BY e.n
        ON CONFLICT (task_id, idempotency_key) DO NOTHING
        RETURNING r.id;
    ELSIF on_conflict = 'FAIL' THEN
        RETURN QUERY
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
        SELECT insert_many.task, e.input, insert_many.run_at, insert_many.priority, idempotency_keys[e.n]
        FROM jsonb_array_elements(inputs) WITH ORDINALITY AS e(input, n) ORDER BY e.n
        RETURNING r.id;
    ELSE
        RAISE EXCEPTION 'on_conflict is FAIL or SKIP, not %', coalesce(on_conflict, 'NULL')
            USING ERRCODE = 'RR003', HINT = 'FAIL: all or nothing. SKIP: runs whose key exists are left out.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.insert_many(bigint, jsonb, text[], text, timestamptz, integer) IS 'Internal: the one text of enqueue_many.';

CREATE OR REPLACE FUNCTION rowrun.task_named(task text) RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    found_id bigint;
BEGIN
    SELECT k.id INTO found_id FROM rowrun.task k WHERE k.name = task_named.task AND k.name <> '' AND k.plan_id IS NULL;
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'there is no task named "%"', task_named.task
            USING ERRCODE = 'no_data_found', HINT = 'Define it: SELECT rowrun.define_task(name, type, payload).';
    END IF;
    RETURN found_id;
END $$;
COMMENT ON FUNCTION rowrun.task_named(text) IS 'Internal: the task without a plan of this name; an error where there is none.';

-- A task by id or by name; inputs as jsonb, as jsonb[], and as text, which is what a literal without a type becomes.
CREATE OR REPLACE FUNCTION rowrun.enqueue_many(task bigint, inputs jsonb, idempotency_keys text[] DEFAULT NULL,
    on_conflict text DEFAULT 'FAIL', run_at timestamptz DEFAULT now(), priority integer DEFAULT NULL) RETURNS SETOF bigint
    LANGUAGE sql
BEGIN ATOMIC
    SELECT rowrun.insert_many(task, inputs, idempotency_keys, on_conflict, run_at, priority);
END;
COMMENT ON FUNCTION rowrun.enqueue_many(bigint, jsonb, text[], text, timestamptz, integer) IS 'A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.';

CREATE OR REPLACE FUNCTION rowrun.enqueue_many(task bigint, inputs jsonb[], idempotency_keys text[] DEFAULT NULL,
    on_conflict text DEFAULT 'FAIL', run_at timestamptz DEFAULT now(), priority integer DEFAULT NULL) RETURNS SETOF bigint
    LANGUAGE sql
BEGIN ATOMIC
    SELECT rowrun.insert_many(task, to_jsonb(inputs), idempotency_keys, on_conflict, run_at, priority);
END;
COMMENT ON FUNCTION rowrun.enqueue_many(bigint, jsonb[], text[], text, timestamptz, integer) IS 'A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.';

CREATE OR REPLACE FUNCTION rowrun.enqueue_many(task bigint, inputs text, idempotency_keys text[] DEFAULT NULL,
    on_conflict text DEFAULT 'FAIL', run_at timestamptz DEFAULT now(), priority integer DEFAULT NULL) RETURNS SETOF bigint
    LANGUAGE sql
BEGIN ATOMIC
    SELECT rowrun.insert_many(task, inputs::jsonb, idempotency_keys, on_conflict, run_at, priority);
END;
COMMENT ON FUNCTION rowrun.enqueue_many(bigint, text, text[], text, timestamptz, integer) IS 'A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.';

CREATE OR REPLACE FUNCTION rowrun.enqueue_many(task text, inputs jsonb, idempotency_keys text[] DEFAULT NULL,
    on_conflict text DEFAULT 'FAIL', run_at timestamptz DEFAULT now(), priority integer DEFAULT NULL) RETURNS SETOF bigint
    LANGUAGE sql
BEGIN ATOMIC
    SELECT rowrun.insert_many(rowrun.task_named(task), inputs, idempotency_keys, on_conflict, run_at, priority);
END;
COMMENT ON FUNCTION rowrun.enqueue_many(text, jsonb, text[], text, timestamptz, integer) IS 'A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.';

CREATE OR REPLACE FUNCTION rowrun.enqueue_many(task text, inputs jsonb[], idempotency_keys text[] DEFAULT NULL,
    on_conflict text DEFAULT 'FAIL', run_at timestamptz DEFAULT now(), priority integer DEFAULT NULL) RETURNS SETOF bigint
    LANGUAGE sql
BEGIN ATOMIC
    SELECT rowrun.insert_many(rowrun.task_named(task), to_jsonb(inputs), idempotency_keys, on_conflict, run_at, priority);
END;
COMMENT ON FUNCTION rowrun.enqueue_many(text, jsonb[], text[], text, timestamptz, integer) IS 'A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.';

CREATE OR REPLACE FUNCTION rowrun.enqueue_many(task text, inputs text, idempotency_keys text[] DEFAULT NULL,
    on_conflict text DEFAULT 'FAIL', run_at timestamptz DEFAULT now(), priority integer DEFAULT NULL) RETURNS SETOF bigint
    LANGUAGE sql
BEGIN ATOMIC
    SELECT rowrun.insert_many(rowrun.task_named(task), inputs::jsonb, idempotency_keys, on_conflict, run_at, priority);
END;
COMMENT ON FUNCTION rowrun.enqueue_many(text, text, text[], text, timestamptz, integer) IS 'A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.';
