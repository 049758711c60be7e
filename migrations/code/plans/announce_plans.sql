-- Decides the events of plans whose rows the caller holds: the claim in the log, and a message for each webhook that
-- wants it; and what such a plan ends with is run. How many events.
CREATE OR REPLACE FUNCTION rowrun.announce_plans(plan_ids bigint[]) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    due record;
    p rowrun.plan;
    what text;
    said record;
    wanted bigint[];
    made integer := 0;
    outbox boolean := false;
BEGIN
    FOR due IN
        SELECT q AS plan, e.event FROM plan q CROSS JOIN LATERAL rowrun.due_event(q) e
        WHERE q.id = ANY (plan_ids) AND q.announced_round < q.round AND e.event IS NOT NULL ORDER BY q.id
    LOOP
        p := due.plan;
        what := due.event;
        UPDATE plan SET announced_round = p.round WHERE id = p.id;
        INSERT INTO webhook_delivery_log AS l (plan_id, event_type, round, retry_count, delivered_at)
        VALUES (p.id, what, p.round, p.retry_count, clock_timestamp())
        ON CONFLICT (plan_id) DO UPDATE
        SET event_type = excluded.event_type, round = excluded.round, retry_count = excluded.retry_count, delivered_at = excluded.delivered_at
        WHERE l.round < excluded.round;
        IF NOT FOUND THEN
            CONTINUE;
        END IF;
        made := made + 1;
        IF p.on_finish_task IS NOT NULL THEN
            PERFORM finish_plan(p, what);
        END IF;
        SELECT array_agg(w.id) INTO wanted FROM webhook w WHERE w.project = p.project AND w.enabled AND what = ANY (w.events);
        IF wanted IS NOT NULL THEN
            SELECT * INTO said FROM plan_message(p, what);
            outbox := address_event(wanted, what, p.id, p.round, said.standard) OR outbox;
        END IF;
    END LOOP;
    IF outbox THEN
        PERFORM notify_look();
    END IF;
    RETURN made;
END $$;
COMMENT ON FUNCTION rowrun.announce_plans(bigint[]) IS 'Internal: decides the events of plans that the caller holds.';
