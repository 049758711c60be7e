-- The tasks of lowest < id <= highest that a filter names, as find_runs for runs: filter is {"plan_id", "definitions", "q", "type",
-- "statuses", "database_id", "version", "text", "error", "attention"}; each word of q stands in the database, the version, the name or the id.
-- attention: those that FAILED for good, were CANCELED, or wait for a replica. The status of a task is asked task by task.
CREATE OR REPLACE FUNCTION rowrun.find_tasks(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer,
    OUT ids bigint[], OUT reached bigint, OUT over boolean)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    of_plan bigint := (filter ->> 'plan_id')::bigint;
    window_ids bigint[];
BEGIN
    IF filter = '{}' THEN
        look := least(look, most); -- each that it looks at is found
    END IF;
    IF of_plan IS NOT NULL THEN
        window_ids := ARRAY(SELECT k.id FROM task k WHERE k.plan_id = of_plan AND k.id > lowest AND k.id <= highest
                            ORDER BY CASE WHEN newest THEN -k.id ELSE k.id END LIMIT look);
    ELSIF newest THEN
        window_ids := ARRAY(SELECT k.id FROM task k WHERE k.id > lowest AND k.id <= highest ORDER BY k.id DESC LIMIT look);
    ELSE
        window_ids := ARRAY(SELECT k.id FROM task k WHERE k.id > lowest AND k.id <= highest ORDER BY k.id LIMIT look);
    END IF;
    ids := ARRAY(
        SELECT k.id FROM unnest(window_ids) WITH ORDINALITY w(id, n)
        CROSS JOIN LATERAL (SELECT x.id, x.plan_id, x.name, x.type, x.database_id, x.version, x.skipped FROM task x WHERE x.id = w.id OFFSET 0) k
        LEFT JOIN LATERAL (SELECT y.status, y.result, y.last_run_id FROM task_status y
                           WHERE y.task_id = w.id AND (filter -> 'statuses' IS NOT NULL OR filter -> 'text' IS NOT NULL OR filter -> 'error' IS NOT NULL
                                                       OR filter -> 'attention' IS NOT NULL) OFFSET 0) s ON true
        WHERE (filter -> 'definitions' IS NULL OR k.plan_id IS NULL)
          AND (filter ->> 'q' IS NULL OR NOT EXISTS (
               SELECT FROM regexp_split_to_table(lower(btrim(filter ->> 'q')), '[[:space:]]+') q(word)
               WHERE position(q.word IN lower(concat_ws(' ', k.database_id, k.version, k.name, k.id))) = 0))
          AND (filter ->> 'type' IS NULL OR k.type = filter ->> 'type')
          AND (filter ->> 'database_id' IS NULL OR k.database_id = filter ->> 'database_id')
          AND (filter ->> 'version' IS NULL OR k.version = filter ->> 'version')
          AND (filter -> 'statuses' IS NULL OR filter -> 'statuses' ? s.status)
          AND (filter -> 'attention' IS NULL OR s.status IN ('FAILED', 'CANCELED') OR s.status = 'PENDING'
               AND (SELECT x.cause = 'NO_REPLICA' FROM task_run x WHERE x.id = s.last_run_id))
          AND (filter ->> 'text' IS NULL OR s.status IN ('FAILED', 'CANCELED')
               AND (s.result ->> 'code' = filter ->> 'text' OR position(lower(filter ->> 'text') IN lower(s.result ->> 'detail')) > 0))
          AND (filter ->> 'error' IS NULL OR s.status = 'FAILED' AND rowrun.normal_error(s.result ->> 'detail') = filter ->> 'error')
        ORDER BY w.n LIMIT most);
    over := cardinality(ids) < most AND cardinality(window_ids) < look;
    reached := CASE WHEN cardinality(ids) = most THEN ids[most]
                    WHEN over THEN CASE WHEN newest THEN lowest + 1 ELSE highest END
                    ELSE window_ids[look] END;
END $$;
COMMENT ON FUNCTION rowrun.find_tasks(jsonb, boolean, bigint, bigint, integer, integer) IS 'Internal: a page of the tasks that a filter names, and how far it looked.';

-- The same for deliveries: filter is {"webhook_id", "plan_id", "statuses"}.
CREATE OR REPLACE FUNCTION rowrun.find_deliveries(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer,
    OUT ids bigint[], OUT reached bigint, OUT over boolean)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    of_plan bigint := (filter ->> 'plan_id')::bigint;
    window_ids bigint[];
BEGIN
    IF filter = '{}' THEN
        look := least(look, most); -- each that it looks at is found
    END IF;
    IF of_plan IS NOT NULL THEN
        window_ids := ARRAY(SELECT d.id FROM webhook_delivery d WHERE d.plan_id = of_plan AND d.id > lowest AND d.id <= highest
                            ORDER BY CASE WHEN newest THEN -d.id ELSE d.id END LIMIT look);
    ELSIF newest THEN
        window_ids := ARRAY(SELECT d.id FROM webhook_delivery d WHERE d.id > lowest AND d.id <= highest ORDER BY d.id DESC LIMIT look);
    ELSE
        window_ids := ARRAY(SELECT d.id FROM webhook_delivery d WHERE d.id > lowest AND d.id <= highest ORDER BY d.id LIMIT look);
    END IF;
    ids := ARRAY(
        SELECT d.id FROM unnest(window_ids) WITH ORDINALITY w(id, n)
        CROSS JOIN LATERAL (SELECT x.id, x.webhook_id, x.status FROM webhook_delivery x WHERE x.id = w.id OFFSET 0) d
        WHERE (filter ->> 'webhook_id' IS NULL OR d.webhook_id = (filter ->> 'webhook_id')::bigint)
          AND (filter -> 'statuses' IS NULL OR filter -> 'statuses' ? d.status)
        ORDER BY w.n LIMIT most);
    over := cardinality(ids) < most AND cardinality(window_ids) < look;
    reached := CASE WHEN cardinality(ids) = most THEN ids[most]
                    WHEN over THEN CASE WHEN newest THEN lowest + 1 ELSE highest END
                    ELSE window_ids[look] END;
END $$;
COMMENT ON FUNCTION rowrun.find_deliveries(jsonb, boolean, bigint, bigint, integer, integer) IS 'Internal: a page of the deliveries that a filter names, and how far it looked.';
