-- What is said of an event: the text, and the standard body, of which the other formats are made. failed_tasks is cut so that a body stays
-- below 20,000 bytes; failed_task_count isn't. Its failures are those of this round.
CREATE OR REPLACE FUNCTION rowrun.plan_message(p rowrun.plan, event text, OUT message text, OUT standard text)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    again text := CASE WHEN p.retry_count > 0 THEN ' on retry' ELSE '' END;
    head text;
    tail text;
    items text[] := '{}';
    kept text := '';
    item text;
    first text;
    failed bigint;
BEGIN
    IF event = 'PIPELINE_FAILED' THEN
        SELECT count(*),
               (array_agg(CASE WHEN x.name = '' THEN 'Task ' || x.task_id WHEN x.name ILIKE 'task %' THEN x.name
                               ELSE 'Task ' || x.name END ORDER BY x.n))[1],
               (array_agg(row_to_json(j)::text ORDER BY x.n))[1:500]
        INTO failed, first, items
        FROM (
            SELECT f.id AS task_id, f.name, n.id AS run_id, n.attempt, left(coalesce(n.result ->> 'detail', ''), 2000) AS detail,
                   row_number() OVER (ORDER BY n.finished_at, n.id, f.id) AS n
            FROM task f
            LEFT JOIN LATERAL (
                SELECT r.id, r.attempt, r.result, r.finished_at FROM task_run r
                WHERE r.task_id = f.id AND r.plan_id IS NOT NULL AND r.status = 'FAILED'
                ORDER BY coalesce(r.id = f.outcome_run_id, false) DESC, r.id DESC LIMIT 1) n ON true
            WHERE f.plan_id = p.id AND f.outcome_round = p.round AND f.outcome = 'FAILED' AND NOT f.skipped
              AND NOT EXISTS (SELECT FROM task_run u WHERE u.task_id = f.id AND u.plan_id IS NOT NULL
                              AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
        ) x CROSS JOIN LATERAL (SELECT x.task_id, x.name, x.run_id, x.attempt, x.detail) j;
        message := 'Pipeline failed' || again || ' - ' || first || ' failed';
        tail := ',"failed_task_count":' || failed || ',"failed_tasks":[';
    ELSE
        message := 'Pipeline completed successfully' || again;
        SELECT ',"tasks":' || count(*) || ',"done":' || count(*) FILTER (WHERE NOT k.skipped)
               || ',"skipped":' || count(*) FILTER (WHERE k.skipped)
        INTO tail FROM task k WHERE k.plan_id = p.id;
    END IF;
    head := '{"type":' || to_json(event) || ',"timestamp":"'
        || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '","data":{"project":' || to_json(p.project)
        || ',"plan_id":' || p.id || ',"plan":' || to_json(p.name) || ',"round":' || p.round || ',"retry_count":' || p.retry_count
        || ',"message":' || to_json(message);
    FOREACH item IN ARRAY items LOOP
        EXIT WHEN octet_length(head) + octet_length(tail) + octet_length(kept) + octet_length(item) + 4 > 20000;
        kept := kept || CASE kept WHEN '' THEN '' ELSE ',' END || item;
    END LOOP;
    standard := head || tail || CASE event WHEN 'PIPELINE_FAILED' THEN kept || ']' ELSE '' END || '}}';
END $$;
COMMENT ON FUNCTION rowrun.plan_message(rowrun.plan, text) IS 'Internal: what is said of an event.';
