-- A payload of a plan's task may name results of tasks that it depends on: {"$result": "task", "path": "order.id"} stands for a value
-- in it. What stands there when the run starts is put in its place, once: a result is somebody's text, and what looks like a
-- reference in it is data. Neither the payload as a whole nor what decides what is executed comes from a result; the run's input is
-- laid over it later, and nothing in that is looked at.

-- Whether a payload may have such. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.names_results(r rowrun.task_run, k rowrun.task) RETURNS boolean LANGUAGE sql STABLE
    RETURN r.plan_id IS NOT NULL AND k.payload::text LIKE '%"$result"%';
COMMENT ON FUNCTION rowrun.names_results(rowrun.task_run, rowrun.task) IS 'Internal: whether a payload may name results of other tasks.';

-- The references of a payload, down to its hundredth level, one more than there may be. Where some stand below that level, one more
-- row has no reference: each level is a copy of what it holds, and a payload of a thousand would be copied a thousand times.
CREATE OR REPLACE FUNCTION rowrun.result_references(payload jsonb) RETURNS TABLE (place text[], reference jsonb) LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH RECURSIVE walk(place, value) AS (
        SELECT ARRAY[e.key], e.value FROM jsonb_each(result_references.payload) e
        WHERE e.key NOT IN ('sql', 'transaction', 'path', 'command') AND jsonb_typeof(e.value) IN ('object', 'array')
        UNION ALL
        SELECT w.place || c.key, c.value
        FROM walk w
        CROSS JOIN LATERAL (
            SELECT e.key, e.value FROM jsonb_each(CASE jsonb_typeof(w.value) WHEN 'object' THEN w.value ELSE '{}' END) e WHERE NOT w.value ? '$result'
            UNION ALL
            SELECT (a.n - 1)::text, a.value
            FROM jsonb_array_elements(CASE jsonb_typeof(w.value) WHEN 'array' THEN w.value ELSE '[]' END) WITH ORDINALITY a(value, n)) c
        WHERE jsonb_typeof(c.value) IN ('object', 'array') AND cardinality(w.place) < 100
    )
    SELECT w.place, CASE WHEN jsonb_typeof(w.value) = 'object' AND w.value ? '$result' THEN w.value END FROM walk w
    WHERE jsonb_typeof(w.value) = 'object' AND w.value ? '$result'
       OR cardinality(w.place) = 100 AND jsonb_path_exists(w.value, '$.**."$result"') LIMIT 101;
END;
COMMENT ON FUNCTION rowrun.result_references(jsonb) IS 'Internal: where a payload names results of other tasks.';

-- What one of them names in the results of what a task depends on, or why it can't be had. path: keys and places in arrays, as a
-- text with dots between them or as an array; without one the whole result.
CREATE OR REPLACE FUNCTION rowrun.named_result(task_id bigint, reference jsonb, OUT value jsonb, OUT problem text) LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    named text := reference ->> '$result';
    path text[];
    needed record;
BEGIN
    IF reference - '{$result,path}'::text[] <> '{}' OR jsonb_typeof(reference -> '$result') <> 'string'
       OR jsonb_typeof(coalesce(reference -> 'path', '""')) NOT IN ('string', 'array')
       OR jsonb_path_exists(reference, 'strict $.path[*] ? (@.type() != "string" && @.type() != "number")', '{}', true)
    THEN
        problem := 'a reference is {"$result": "name of a task", "path": "key.key"}, and nothing else';
        RETURN;
    END IF;
    SELECT k.outcome, k.skipped, r.result INTO needed
    FROM rowrun.task_dependency d JOIN rowrun.task k ON k.id = d.depends_on_id
    LEFT JOIN rowrun.task_run r ON r.id = k.outcome_run_id AND coalesce(r.status, '') = 'DONE'
    WHERE d.task_id = named_result.task_id AND k.name = named AND named <> '' LIMIT 1;
    IF NOT FOUND THEN
        problem := format('the task depends on none with the name "%s", whose result its payload names: add the dependency', left(named, 200));
    ELSIF needed.result IS NULL THEN
        problem := format('task "%s", whose result the payload names, has none: it %s', left(named, 200),
                          CASE WHEN needed.skipped THEN 'was skipped' ELSE 'is not DONE' END);
    ELSE
        IF jsonb_typeof(reference -> 'path') = 'array' THEN
            path := ARRAY(SELECT x.e FROM jsonb_array_elements_text(reference -> 'path') WITH ORDINALITY x(e, n) ORDER BY x.n);
        ELSE
            path := string_to_array(nullif(reference ->> 'path', ''), '.');
        END IF;
        value := CASE WHEN path IS NULL THEN needed.result ELSE needed.result #> path END;
        IF value IS NULL THEN
            problem := format('the result of task "%s" has nothing at %s', left(named, 200), left(reference ->> 'path', 200));
        END IF;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.named_result(bigint, jsonb) IS 'Internal: what a payload names of a result.';

-- A payload with the results that it names, or why there is none.
CREATE OR REPLACE FUNCTION rowrun.with_results(task_id bigint, payload jsonb, OUT whole jsonb, OUT problem text) LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    r record;
    found_value record;
    seen integer := 0;
    size bigint := 0;
BEGIN
    IF payload ? '$result' THEN
        problem := '"$result" stands for a value in the payload, not for the payload';
        RETURN;
    END IF;
    whole := payload;
    FOR r IN SELECT * FROM rowrun.result_references(payload) LOOP
        seen := seen + 1;
        found_value := rowrun.named_result(with_results.task_id, r.reference);
        size := size + coalesce(octet_length(found_value.value::text), 0);
        problem := CASE WHEN seen > 100 THEN 'the payload names more than 100 results'
                        WHEN num_nonnulls(r.reference) = 0 THEN 'the payload names a result below its hundredth level: name it further up' WHEN found_value.problem IS NOT NULL THEN found_value.problem
                        WHEN size > 1048576 THEN 'the results that the payload names are larger than 1 MiB: keep large data elsewhere and leave a reference' END;
        IF problem IS NOT NULL THEN
            whole := NULL;
            RETURN;
        END IF;
        whole := jsonb_set(whole, r.place, found_value.value, false);
    END LOOP;
END $$;
COMMENT ON FUNCTION rowrun.with_results(bigint, jsonb) IS 'Internal: a payload with the results that it names, or why there is none.';
