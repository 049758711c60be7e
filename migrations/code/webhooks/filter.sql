-- A filter says of which tasks without a plan a webhook is told. It is refused where it means nothing for an event, so that
-- nobody waits for messages that can't come.
CREATE OR REPLACE FUNCTION rowrun.webhook_filter() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    key   text;
    value jsonb;
    named text;
BEGIN
    IF jsonb_typeof(NEW.filter) <> 'object' OR octet_length(NEW.filter::text) > 10000 THEN
        RAISE EXCEPTION 'filter of a webhook is a JSON object of at most 10,000 bytes'
            USING ERRCODE = 'check_violation', HINT = 'Such as {"type": ["HTTP", "report"], "label": {"team": "core"}}; NULL: none.';
    ELSIF NEW.filter = '{}' THEN
        NEW.filter := NULL;
        RETURN NEW;
    END IF;
    FOR key, value IN SELECT f.key, f.value FROM jsonb_each(NEW.filter) f LOOP
        IF key NOT IN ('task', 'type', 'queue', 'label') THEN
            RAISE EXCEPTION 'filter of a webhook has no "%"', left(key, 100)
                USING ERRCODE = 'check_violation', HINT = 'It may have task (names or ids), type, queue, and label with keys and values.';
        ELSIF key = 'label' THEN
            IF (CASE jsonb_typeof(value) WHEN 'object' THEN value = '{}' OR EXISTS (
                   SELECT FROM jsonb_each(value) l WHERE jsonb_typeof(l.value) NOT IN ('string', 'number', 'boolean')) ELSE true END) THEN
                RAISE EXCEPTION 'label in the filter of a webhook is an object of keys and plain values'
                    USING ERRCODE = 'check_violation', HINT = 'Such as {"label": {"team": "core"}}: tasks that have all of them fit.';
            END IF;
        ELSIF (CASE jsonb_typeof(value) WHEN 'string' THEN value = '""' WHEN 'array' THEN value = '[]' OR EXISTS (
                  SELECT FROM jsonb_array_elements(value) e WHERE jsonb_typeof(e) <> 'string' OR e = '""') ELSE true END) THEN
            RAISE EXCEPTION '% in the filter of a webhook is a text or a list of texts, of which one must fit', key
                USING ERRCODE = 'check_violation', HINT = format('Such as {"%s": ["one", "another"]}.', key);
        END IF;
    END LOOP;
    SELECT e INTO named FROM unnest(NEW.events) e WHERE e IN ('PIPELINE_FAILED', 'PIPELINE_COMPLETED') LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'filter of a webhook means nothing for %, which is of a plan as a whole', named
            USING ERRCODE = 'check_violation', HINT = 'Give it the events RUN_FAILED, SCHEDULE_PAUSED or TYPE_ORPHANED alone; plans are told of to another webhook, by project.';
    ELSIF 'TYPE_ORPHANED' = ANY (NEW.events) AND NEW.filter - 'type' <> '{}' THEN
        RAISE EXCEPTION 'filter of a webhook for TYPE_ORPHANED is by type alone'
            USING ERRCODE = 'check_violation', HINT = 'An outage is that of a type, whatever its tasks: make another webhook for this event.';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.filter IS NOT DISTINCT FROM OLD.filter THEN
        RETURN NEW;
    END IF;
    FOR named IN
        SELECT n FROM jsonb_path_query(NEW.filter, '$.task[*]') x(j) CROSS JOIN LATERAL (SELECT j #>> '{}') y(n)
        WHERE NOT EXISTS (SELECT FROM task k WHERE k.plan_id IS NULL AND k.name <> '' AND k.name = n)
          AND NOT EXISTS (SELECT FROM task k WHERE k.plan_id IS NULL AND k.id = CASE WHEN n ~ '^[0-9]{1,18}$' THEN n::bigint END)
    LOOP
        RAISE NOTICE 'filter of a webhook: there is no task "%" without a plan yet', left(named, 200);
    END LOOP;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.webhook_filter() IS 'Trigger: the filter of a webhook means something for its events.';
CREATE OR REPLACE TRIGGER webhook_filter BEFORE INSERT OR UPDATE ON rowrun.webhook FOR EACH ROW
    WHEN (NEW.filter IS NOT NULL) EXECUTE FUNCTION rowrun.webhook_filter();

-- Whether a filter lets an event of this task pass. Values of labels are compared as text. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.filter_fits(filter jsonb, task_id bigint, task_name text, type text, queue text, labels jsonb) RETURNS boolean LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT filter IS NULL
        OR (NOT filter ? 'task' OR filter -> 'task' ? task_name OR filter -> 'task' ? task_id::text)
           AND (NOT filter ? 'type' OR filter -> 'type' ? type)
           AND (NOT filter ? 'queue' OR filter -> 'queue' ? queue)
           AND NOT EXISTS (SELECT FROM jsonb_each_text(filter -> 'label') l WHERE labels ->> l.key IS DISTINCT FROM l.value);
END;
COMMENT ON FUNCTION rowrun.filter_fits(jsonb, bigint, text, text, text, jsonb) IS 'Internal: whether a webhook''s filter lets an event pass.';
