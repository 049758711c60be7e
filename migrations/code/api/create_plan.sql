-- A plan with its tasks and their dependencies, by name, in one call, with the rights of the caller. tasks is an array of objects
-- with the names of task's columns, and depends_on: an array of names. Times are texts or numbers of seconds; retention may also be
-- an object of them by status. What is left out
-- has its default. Nothing runs before run_plan.
CREATE OR REPLACE FUNCTION rowrun.create_plan(name text, tasks jsonb, project text DEFAULT NULL, parallel_limit integer DEFAULT NULL,
    on_failure text DEFAULT NULL, on_finish_task text DEFAULT NULL) RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    made bigint;
    wrong text;
    nth bigint; -- of the task that is read
    item jsonb;
BEGIN
    IF jsonb_typeof(tasks) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'create_plan: tasks is no array' USING ERRCODE = 'RR003', HINT = '[{"name": "build", "type": "NOOP"}, {"name": "ship", "type": "NOOP", "depends_on": ["build"]}]';
    END IF;
    SELECT format('create_plan: task %s: %s', x.n, CASE
               WHEN jsonb_typeof(x.t) <> 'object' THEN 'it is no object'
               WHEN jsonb_typeof(coalesce(nullif(x.t -> 'depends_on', 'null'), '[]')) <> 'array' THEN 'depends_on is no array of names'
               WHEN u.known THEN format('%s is an %s', u.key, jsonb_typeof(x.t -> u.key))
               ELSE format('%I is none of its members', u.key) END)
    INTO wrong
    FROM jsonb_array_elements(create_plan.tasks) WITH ORDINALITY x(t, n)
    LEFT JOIN LATERAL (
        SELECT k.key, k.known FROM (
            SELECT e.key, e.key IN ('name', 'type', 'queue', 'database_id', 'version', 'sequential', 'payload', 'priority', 'timeout', 'progress_timeout',
                            'max_attempts', 'retry_delay', 'on_stale', 'on_failure_task', 'paused', 'skipped', 'skip_reason', 'retention', 'aging', 'labels', 'depends_on') AS known,
                   jsonb_typeof(e.value) = 'array' AND e.key NOT IN ('payload', 'labels', 'depends_on')
                   OR jsonb_typeof(e.value) = 'object' AND e.key NOT IN ('payload', 'labels', 'depends_on', 'retention') AS nested -- as text it would be a name
            FROM jsonb_each(CASE WHEN jsonb_typeof(x.t) = 'object' THEN x.t ELSE '{}' END) e) k
        WHERE NOT k.known OR k.nested
        ORDER BY k.key LIMIT 1) u ON true
    WHERE jsonb_typeof(x.t) <> 'object' OR u.key IS NOT NULL OR jsonb_typeof(coalesce(nullif(x.t -> 'depends_on', 'null'), '[]')) <> 'array'
    ORDER BY x.n LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong USING ERRCODE = 'RR003', HINT = 'A task has the columns of rowrun.task that people write, and depends_on.';
    END IF;
    BEGIN -- read once before anything is written, to say which task can't be
        FOR nth, item IN SELECT x.n, x.t FROM jsonb_array_elements(create_plan.tasks) WITH ORDINALITY x(t, n) ORDER BY x.n LOOP
            PERFORM jsonb_populate_record(NULL::rowrun.task, item - 'retention'),
                    CASE WHEN jsonb_typeof(item -> 'retention') <> 'object' THEN (item ->> 'retention')::interval END;
        END LOOP;
    EXCEPTION WHEN data_exception THEN
        RAISE EXCEPTION 'create_plan: task %: %', nth, SQLERRM
            USING ERRCODE = SQLSTATE, HINT = 'Times are texts such as "10 min" or numbers of seconds; priority and max_attempts are whole numbers; sequential, paused and skipped are true or false.';
    END;
    INSERT INTO plan (name, project, parallel_limit, on_failure, on_finish_task)
    VALUES (create_plan.name, create_plan.project, create_plan.parallel_limit, create_plan.on_failure, create_plan.on_finish_task) RETURNING id INTO made;
    INSERT INTO task (plan_id, name, type, queue, database_id, version, sequential, payload, priority, timeout, progress_timeout, max_attempts,
                      retry_delay, on_stale, on_failure_task, paused, skipped, skip_reason, retention, retention_by_status, aging, labels)
    SELECT made, t.name, t.type, t.queue, t.database_id, t.version, t.sequential, t.payload, t.priority, t.timeout, t.progress_timeout, t.max_attempts,
           t.retry_delay, t.on_stale, t.on_failure_task, t.paused, t.skipped, t.skip_reason,
           CASE WHEN jsonb_typeof(t.retention) <> 'object' THEN (t.retention #>> '{}')::interval END,
           CASE WHEN jsonb_typeof(t.retention) = 'object' THEN t.retention END, t.aging, t.labels
    FROM jsonb_array_elements(create_plan.tasks) WITH ORDINALITY x(t, n)
    CROSS JOIN LATERAL jsonb_to_record(x.t) AS t(name text, type text, queue text, database_id text, version text, sequential boolean, payload jsonb,
        priority integer, timeout interval, progress_timeout interval, max_attempts integer, retry_delay interval, on_stale text,
        on_failure_task text, paused boolean, skipped boolean, skip_reason text, retention jsonb, aging interval, labels jsonb)
    ORDER BY x.n;
    SELECT format('create_plan: task %s depends on %s, which is none of this plan', coalesce(quote_literal(x.t ->> 'name'), 'without a name'), coalesce(quote_literal(d.name), 'NULL')) INTO wrong
    FROM jsonb_array_elements(create_plan.tasks) WITH ORDINALITY x(t, n)
    CROSS JOIN LATERAL jsonb_array_elements_text(coalesce(nullif(x.t -> 'depends_on', 'null'), '[]')) d(name)
    WHERE coalesce(x.t ->> 'name', '') = '' OR NOT EXISTS (SELECT FROM task k WHERE k.plan_id = made AND k.name = d.name AND k.name <> '')
    ORDER BY x.n LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong USING ERRCODE = 'RR003', HINT = 'Dependencies are told by name: give both tasks one.';
    END IF;
    INSERT INTO task_dependency (task_id, depends_on_id)
    SELECT DISTINCT k.id, o.id
    FROM jsonb_array_elements(create_plan.tasks) x(t)
    CROSS JOIN LATERAL jsonb_array_elements_text(coalesce(nullif(x.t -> 'depends_on', 'null'), '[]')) d(name)
    JOIN task k ON k.plan_id = made AND k.name = x.t ->> 'name'
    JOIN task o ON o.plan_id = made AND o.name = d.name;
    RETURN made;
END $$;
COMMENT ON FUNCTION rowrun.create_plan(text, jsonb, text, integer, text, text) IS 'Makes a plan with its tasks and their dependencies; its id. run_plan runs it.';
