-- Writes the message of an event for each of these webhooks, in its format; whether there was one to write. The standard
-- body stays beside it until the first try: who makes that may know the URL of the dashboard, and then it is a link.
-- A plan's id may have been another's before, as after TRUNCATE ... RESTART IDENTITY. What that one left is still sent and
-- kept, under a round that no plan has.
CREATE OR REPLACE FUNCTION rowrun.address_event(webhooks bigint[], event text, plan_id bigint, round integer, standard text) RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    base  text := 'urn:uuid:' || (SELECT d.id FROM deployment d);
    born  timestamptz := (SELECT p.created_at FROM plan p WHERE p.id = plan_id);
    w     record;
    named text;
    made  boolean := false;
BEGIN
    FOR w IN SELECT h.id, h.format FROM webhook h WHERE h.id = ANY (webhooks) ORDER BY h.id LOOP
        UPDATE webhook_delivery d SET round = least(0, (SELECT min(x.round) FROM webhook_delivery x WHERE x.webhook_id = w.id AND x.plan_id = plan_id)) - 1
        WHERE d.webhook_id = w.id AND d.plan_id = plan_id AND d.round = round AND d.created_at < born;
        named := 'msg_' || replace(gen_random_uuid()::text, '-', '');
        INSERT INTO webhook_delivery AS d (id, webhook_id, plan_id, round, event_type, message_id, payload, content_type, format, standard)
        VALUES (next_delivery_id(), w.id, plan_id, round, event, named, webhook_body(w.format, named, standard, base), webhook_content_type(w.format),
            w.format, CASE WHEN w.format <> 'standard' THEN standard END)
        ON CONFLICT ON CONSTRAINT webhook_delivery_once DO NOTHING;
        made := made OR FOUND;
    END LOOP;
    RETURN made;
END $$;
COMMENT ON FUNCTION rowrun.address_event(bigint[], text, bigint, integer, text) IS 'Internal: the messages of an event.';
