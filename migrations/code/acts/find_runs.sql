-- What a filter of runs asks of one: filter is {"statuses", "type", "queue", "database_id", "plan_id", "task_ids", "text", "error",
-- "since", "until", "failed", "unretried"}, each of which may be missing. Inlined: the documents of a run are read where the text
-- is asked for, and nowhere else.
CREATE OR REPLACE FUNCTION rowrun.run_matches(filter jsonb, status text, type text, queue text, database_id text, plan_id bigint,
    task_id bigint, retry_run_id bigint, created_at timestamptz, result jsonb) RETURNS boolean LANGUAGE sql STABLE
    RETURN (filter -> 'statuses' IS NULL OR filter -> 'statuses' ? status)
       AND (filter ->> 'type' IS NULL OR type = filter ->> 'type')
       AND (filter ->> 'queue' IS NULL OR queue = filter ->> 'queue')
       AND (filter ->> 'database_id' IS NULL OR database_id = filter ->> 'database_id')
       AND (filter ->> 'plan_id' IS NULL OR plan_id = (filter ->> 'plan_id')::bigint)
       AND (filter -> 'task_ids' IS NULL OR filter -> 'task_ids' ? task_id::text)
       AND (filter ->> 'since' IS NULL OR created_at >= (filter ->> 'since')::timestamptz)
       AND (filter ->> 'until' IS NULL OR created_at < (filter ->> 'until')::timestamptz)
       AND (filter -> 'failed' IS NULL OR status = 'FAILED' AND retry_run_id IS NULL)
       AND (filter -> 'unretried' IS NULL OR retry_run_id IS NULL)
       AND (filter ->> 'text' IS NULL OR status IN ('FAILED', 'CANCELED')
            AND (result ->> 'code' = filter ->> 'text' OR position(lower(filter ->> 'text') IN lower(result ->> 'detail')) > 0))
       AND (filter ->> 'error' IS NULL OR status = 'FAILED' AND rowrun.normal_error(result ->> 'detail') = filter ->> 'error');
COMMENT ON FUNCTION rowrun.run_matches(jsonb, text, text, text, text, bigint, bigint, bigint, timestamptz, jsonb) IS 'Internal: whether a filter names a run.';

-- The runs of lowest < id <= highest that a filter names, of those that have not ended or that failed for good: up to most of them,
-- from one end on. seen says how many it has looked at: from look on, some may have been left out that come before those found.
CREATE OR REPLACE FUNCTION rowrun.find_open_runs(filter jsonb, statuses text[], newest boolean, lowest bigint, highest bigint, most integer,
    look integer, OUT ids bigint[], OUT seen bigint)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    WITH w AS MATERIALIZED (
        (SELECT r.id FROM rowrun.pending_runs() r WHERE 'PENDING' = ANY (statuses) LIMIT look)
        UNION ALL
        (SELECT r.id FROM task_run r WHERE 'AVAILABLE' = ANY (statuses) AND r.status = 'AVAILABLE' LIMIT look)
        UNION ALL
        (SELECT r.id FROM task_run r WHERE 'RUNNING' = ANY (statuses) AND r.status = 'RUNNING' LIMIT look)
        UNION ALL
        (SELECT f.id FROM (SELECT r.id FROM task_run r WHERE r.status = 'FAILED' AND r.retry_run_id IS NULL
                           ORDER BY r.finished_at DESC LIMIT look) f WHERE filter -> 'failed' IS NOT NULL)
    ), m AS (
        -- Looked up one by one, in their order, until there are enough: a join might read all of the table.
        SELECT r.id FROM (SELECT w.id FROM w WHERE w.id > lowest AND w.id <= highest ORDER BY CASE WHEN newest THEN -w.id ELSE w.id END OFFSET 0) n
        CROSS JOIN LATERAL (
            SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
            FROM task_run x WHERE x.id = n.id OFFSET 0) r
        WHERE rowrun.run_matches(filter, r.status, r.type, r.queue, r.database_id, r.plan_id, r.task_id, r.retry_run_id, r.created_at, r.result)
        LIMIT most
    )
    SELECT (SELECT array_agg(m.id) FROM m), (SELECT count(*) FROM w) INTO ids, seen;
END $$;
COMMENT ON FUNCTION rowrun.find_open_runs(jsonb, text[], boolean, bigint, bigint, integer, integer) IS 'Internal: a page of the unfinished or failed runs that a filter names.';

-- The runs of lowest < id <= highest that an act was about and that a filter names, up to most of them, from one end on.
CREATE OR REPLACE FUNCTION rowrun.find_act_runs(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN ARRAY(
        SELECT r.id FROM (SELECT DISTINCT n FROM act a CROSS JOIN LATERAL unnest(a.runs) n
                          WHERE a.id = (find_act_runs.filter ->> 'act_id')::bigint AND n > lowest AND n <= highest) t(id)
        CROSS JOIN LATERAL (
            SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
            FROM task_run x WHERE x.id = t.id OFFSET 0) r
        WHERE rowrun.run_matches(filter, r.status, r.type, r.queue, r.database_id, r.plan_id, r.task_id, r.retry_run_id, r.created_at, r.result)
        ORDER BY CASE WHEN newest THEN -r.id ELSE r.id END LIMIT most);
END $$;
COMMENT ON FUNCTION rowrun.find_act_runs(jsonb, boolean, bigint, bigint, integer) IS 'Internal: a page of the runs of an act that a filter names.';

-- The runs of lowest < id <= highest that a filter names, in which act_id is an act besides: up to most of them, from one end of
-- that on. What it reads is bounded: the runs of an act, of a plan, or of tasks of plans; those that have not ended, or that
-- failed for good, as long as these are few (look); otherwise look runs, beside which there may be more behind reached.
CREATE OR REPLACE FUNCTION rowrun.find_runs(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer,
    OUT ids bigint[], OUT reached bigint, OUT over boolean)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan = off -- what is asked for has an index, whatever the statistics say
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    statuses text[] := ARRAY(SELECT jsonb_array_elements_text(coalesce(filter -> 'statuses', '[]')));
    of_plan bigint := (filter ->> 'plan_id')::bigint;
    of_tasks bigint[] := ARRAY(SELECT t::bigint FROM jsonb_array_elements_text(coalesce(filter -> 'task_ids', '[]')) t);
    of_one bigint;
    few boolean := false;
    seen bigint;
BEGIN
    IF filter -> 'statuses' = '[]' THEN -- of none at all
        ids := '{}';
        reached := highest;
        over := true;
        RETURN;
    ELSIF of_plan IS NOT NULL THEN
        of_tasks := ARRAY(SELECT k.id FROM task k WHERE k.plan_id = of_plan AND (filter -> 'task_ids' IS NULL OR filter -> 'task_ids' ? k.id::text));
        few := true;
    ELSIF of_tasks <> '{}' THEN
        few := NOT EXISTS (SELECT FROM task k WHERE k.id = ANY (of_tasks) AND k.plan_id IS NULL);
        of_one := CASE WHEN cardinality(of_tasks) = 1 THEN of_tasks[1] END;
    END IF;
    IF filter -> 'act_id' IS NOT NULL THEN
        ids := rowrun.find_act_runs(filter, newest, lowest, highest, most);
        few := true;
    ELSIF few THEN
        -- A look at each task: its runs are few.
        SELECT array_agg(m.id), max(m.seen) INTO ids, seen FROM (
            SELECT r.id, 0 AS seen FROM unnest(of_tasks) t(id) CROSS JOIN LATERAL (
                SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
                FROM task_run x WHERE x.task_id = t.id AND x.id > lowest AND x.id <= highest ORDER BY x.id OFFSET 0) r
            WHERE rowrun.run_matches(filter, r.status, r.type, r.queue, r.database_id, r.plan_id, r.task_id, r.retry_run_id, r.created_at, r.result)
            ORDER BY CASE WHEN newest THEN -r.id ELSE r.id END LIMIT most) m;
    ELSIF of_one IS NULL AND (statuses <> '{}' AND statuses <@ '{PENDING,AVAILABLE,RUNNING}' OR filter -> 'failed' IS NOT NULL) THEN
        SELECT o.ids, o.seen INTO ids, seen FROM find_open_runs(filter, statuses, newest, lowest, highest, most, look) o;
        few := seen < look;
    END IF;
    IF few THEN
        ids := coalesce(ids, '{}');
        over := cardinality(ids) < most;
        reached := CASE WHEN over THEN CASE WHEN newest THEN lowest + 1 ELSE highest END ELSE ids[most] END;
        RETURN;
    END IF;
    -- Where only a time is asked for, the look begins and ends there.
    IF filter ->> 'until' IS NOT NULL THEN
        highest := least(highest, rowrun.run_id_at((filter ->> 'until')::timestamptz + interval '1 hour', lowest, highest));
    END IF;
    IF filter ->> 'since' IS NOT NULL THEN
        lowest := greatest(lowest, rowrun.run_id_at((filter ->> 'since')::timestamptz - interval '1 hour', lowest, highest));
    END IF;
    IF newest THEN
        WITH w AS (
            SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
            FROM task_run x WHERE of_one IS NULL AND x.id > lowest AND x.id <= highest ORDER BY x.id DESC LIMIT look
        ), o AS (
            SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
            FROM task_run x WHERE x.task_id = of_one AND x.id > lowest AND x.id <= highest ORDER BY x.id DESC LIMIT look
        )
        SELECT array_agg(m.id) INTO ids FROM (
            SELECT r.id FROM (SELECT * FROM w UNION ALL SELECT * FROM o) r
            WHERE rowrun.run_matches(filter, r.status, r.type, r.queue, r.database_id, r.plan_id, r.task_id, r.retry_run_id, r.created_at, r.result)
            LIMIT most) m;
    ELSE
        WITH w AS (
            SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
            FROM task_run x WHERE of_one IS NULL AND x.id > lowest AND x.id <= highest ORDER BY x.id LIMIT look
        ), o AS (
            SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
            FROM task_run x WHERE x.task_id = of_one AND x.id > lowest AND x.id <= highest ORDER BY x.id LIMIT look
        )
        SELECT array_agg(m.id) INTO ids FROM (
            SELECT r.id FROM (SELECT * FROM w UNION ALL SELECT * FROM o) r
            WHERE rowrun.run_matches(filter, r.status, r.type, r.queue, r.database_id, r.plan_id, r.task_id, r.retry_run_id, r.created_at, r.result)
            LIMIT most) m;
    END IF;
    ids := coalesce(ids, '{}');
    over := false;
    IF cardinality(ids) = most THEN
        reached := ids[most];
        RETURN;
    END IF;
    -- Where the look ended: by the index alone.
    IF of_one IS NULL AND newest THEN
        reached := (SELECT x.id FROM task_run x WHERE x.id > lowest AND x.id <= highest ORDER BY x.id DESC OFFSET look - 1 LIMIT 1);
    ELSIF of_one IS NULL THEN
        reached := (SELECT x.id FROM task_run x WHERE x.id > lowest AND x.id <= highest ORDER BY x.id OFFSET look - 1 LIMIT 1);
    ELSIF newest THEN
        reached := (SELECT x.id FROM task_run x WHERE x.task_id = of_one AND x.id > lowest AND x.id <= highest ORDER BY x.id DESC OFFSET look - 1 LIMIT 1);
    ELSE
        reached := (SELECT x.id FROM task_run x WHERE x.task_id = of_one AND x.id > lowest AND x.id <= highest ORDER BY x.id OFFSET look - 1 LIMIT 1);
    END IF;
    over := reached IS NULL;
    reached := coalesce(reached, CASE WHEN newest THEN lowest + 1 ELSE highest END);
END $$;
COMMENT ON FUNCTION rowrun.find_runs(jsonb, boolean, bigint, bigint, integer, integer) IS 'Internal: a page of the runs that a filter names, and how far it looked.';
