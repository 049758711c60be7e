-- Events of tasks without a plan. Each is decided in the transaction that makes the fact, by whoever makes it, and its
-- messages are rows of that transaction: either both are there or neither.

-- Writes the message of an event for each of these webhooks, in its format; whether there was one to write. data: what it
-- is about, as JSON. A run's id may have been another's before, as after TRUNCATE ... RESTART IDENTITY. What that one left is
-- still sent and kept, under a root that no run has.
CREATE OR REPLACE FUNCTION rowrun.address_task_event(webhooks bigint[], event text, run_id bigint, root_id bigint, task_id bigint, task_type text, data text)
    RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    base  text := 'urn:uuid:' || (SELECT d.id FROM deployment d);
    plain text := '{"type":' || to_json(event) || ',"timestamp":"' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
        || '","data":' || data || '}';
    born  timestamptz := (SELECT r.created_at FROM task_run r WHERE r.id = root_id);
    w     record;
    named text;
    made  boolean := false;
BEGIN
    FOR w IN SELECT h.id, h.format FROM webhook h WHERE h.id = ANY (webhooks) ORDER BY h.id LOOP
        UPDATE webhook_delivery d SET root_id = -d.id WHERE d.root_id = root_id AND d.webhook_id = w.id AND d.created_at < born;
        named := 'msg_' || replace(gen_random_uuid()::text, '-', '');
        INSERT INTO webhook_delivery AS d (id, webhook_id, run_id, root_id, task_id, task_type, event_type, message_id, payload, content_type, format, standard)
        VALUES (next_delivery_id(), w.id, run_id, root_id, task_id, task_type, event, named, webhook_body(w.format, named, plain, base),
            webhook_content_type(w.format), w.format, CASE WHEN w.format <> 'standard' THEN plain END)
        ON CONFLICT DO NOTHING;
        made := made OR FOUND;
    END LOOP;
    RETURN made;
END $$;
COMMENT ON FUNCTION rowrun.address_task_event(bigint[], text, bigint, bigint, bigint, text, text) IS 'Internal: the messages of an event outside plans.';

-- How a task is called in a message.
CREATE OR REPLACE FUNCTION rowrun.task_called(task_id bigint, name text) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN name = '' THEN 'Task ' || task_id WHEN name ILIKE 'task %' THEN name ELSE 'Task ' || name END;
COMMENT ON FUNCTION rowrun.task_called(bigint, text) IS 'Internal: how a task is called in a message.';

-- RUN_FAILED, for those of these runs that failed for good: no run follows, and nobody gave them back. A chain has one
-- message for each webhook, however often people have it retried.
CREATE OR REPLACE FUNCTION rowrun.announce_failures(run_ids bigint[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    failed record;
    made boolean := false;
BEGIN
    FOR failed IN
        SELECT r.id, r.root_id, r.task_id, r.type, wanted.ids AS webhooks, row_to_json(d)::text AS data
        FROM task_run r
        JOIN task k ON k.id = r.task_id
        CROSS JOIN LATERAL (
            SELECT array_agg(w.id) AS ids FROM webhook w
            WHERE w.enabled AND 'RUN_FAILED' = ANY (w.events) AND filter_fits(w.filter, k.id, k.name, r.type, r.queue, k.labels)) wanted
        CROSS JOIN LATERAL (
            SELECT r.id AS run_id, r.root_id, r.task_id, k.name AS task, r.type, r.queue, r.database_id, r.attempt,
                   left(r.result ->> 'code', 100) AS code, left(coalesce(r.result ->> 'detail', ''), 2000) AS detail,
                   'Run failed - ' || task_called(k.id, k.name) || ' failed' AS message) d
        WHERE r.id = ANY (run_ids) AND r.plan_id IS NULL AND r.status = 'FAILED' AND r.retry_run_id IS NULL
          AND (r.result ->> 'code' IN ('RELEASED', 'SNOOZED')) IS NOT TRUE AND wanted.ids IS NOT NULL
        ORDER BY r.id
    LOOP
        made := address_task_event(failed.webhooks, 'RUN_FAILED', failed.id, failed.root_id, failed.task_id, failed.type, failed.data) OR made;
    END LOOP;
    IF made THEN
        PERFORM notify_look();
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.announce_failures(bigint[]) IS 'Internal: decides RUN_FAILED of runs that have just ended.';

-- SCHEDULE_PAUSED, of a task that has just paused itself: the caller's change of its row is what makes it one.
CREATE OR REPLACE FUNCTION rowrun.announce_pause(task_id bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    stopped record;
BEGIN
    SELECT k.id, k.type, wanted.ids AS webhooks, row_to_json(d)::text AS data INTO stopped
    FROM task k
    CROSS JOIN LATERAL (
        SELECT array_agg(w.id) AS ids FROM webhook w
        WHERE w.enabled AND 'SCHEDULE_PAUSED' = ANY (w.events) AND filter_fits(w.filter, k.id, k.name, k.type, k.queue, k.labels)) wanted
    CROSS JOIN LATERAL (
        SELECT k.id AS task_id, k.name AS task, k.type, k.queue, k.schedule, k.time_zone, k.schedule_error AS detail,
               'Schedule paused - ' || task_called(k.id, k.name) || ' runs no more' AS message) d
    WHERE k.id = announce_pause.task_id AND k.schedule_error IS NOT NULL AND wanted.ids IS NOT NULL;
    IF FOUND AND address_task_event(stopped.webhooks, 'SCHEDULE_PAUSED', NULL, NULL, stopped.id, stopped.type, stopped.data) THEN
        PERFORM notify_look();
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.announce_pause(bigint) IS 'Internal: decides SCHEDULE_PAUSED of a task that has just paused itself.';

-- TYPE_ORPHANED, of types that the stream has just been told of for the first time in their outage.
CREATE OR REPLACE FUNCTION rowrun.announce_orphans(types text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    orphan record;
    made boolean := false;
BEGIN
    FOR orphan IN
        SELECT o.type, wanted.ids AS webhooks, row_to_json(d)::text AS data
        FROM orphan_type o
        CROSS JOIN LATERAL (
            SELECT array_agg(w.id) AS ids FROM webhook w
            WHERE w.enabled AND 'TYPE_ORPHANED' = ANY (w.events) AND filter_fits(w.filter, NULL, NULL, o.type, NULL, NULL)) wanted
        CROSS JOIN LATERAL (
            SELECT o.type, o.pending, o.available, to_char(o.first_seen AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS since,
                   'Type orphaned - ' || (o.pending + o.available) || CASE o.pending + o.available WHEN 1 THEN ' run' ELSE ' runs' END || ' of ' || o.type
                   || ' wait, and no live replica runs them' AS message) d
        WHERE o.type = ANY (types) AND wanted.ids IS NOT NULL ORDER BY o.type
    LOOP
        made := address_task_event(orphan.webhooks, 'TYPE_ORPHANED', NULL, NULL, NULL, orphan.type, orphan.data) OR made;
    END LOOP;
    IF made THEN
        PERFORM notify_look();
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.announce_orphans(text[]) IS 'Internal: decides TYPE_ORPHANED of types that nobody has begun to run.';
