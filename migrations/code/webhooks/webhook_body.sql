-- A message in the format of a webhook, made of the standard one. What users wrote (names, details) is for each receiver a
-- text and nothing else: no markup, no link, no mention. base: the URL of the dashboard, or whatever else names this
-- deployment; only a URL is linked to.
CREATE OR REPLACE FUNCTION rowrun.webhook_body(format text, message_id text, standard text, base text) RETURNS text LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    whole jsonb;
    path  text;
    said  record;
BEGIN
    IF format = 'standard' THEN
        RETURN standard;
    END IF;
    whole := standard::jsonb;
    path := CASE WHEN whole -> 'data' ? 'plan_id' THEN 'plans/' || (whole #>> '{data,plan_id}')
                 WHEN whole -> 'data' ? 'run_id' THEN 'runs/' || (whole #>> '{data,run_id}')
                 WHEN whole -> 'data' ? 'task_id' THEN 'tasks/' || (whole #>> '{data,task_id}') END;
    IF format = 'cloudevents' THEN
        RETURN '{"specversion":"1.0","id":' || to_json(message_id) || ',"source":' || to_json(base)
            || ',"type":' || to_json('com.github.rowrun.' || (whole ->> 'type')) || coalesce(',"subject":' || to_json(coalesce(path, 'types/' || (whole #>> '{data,type}'))), '')
            || ',"time":' || (whole -> 'timestamp') || ',"datacontenttype":"application/json","data":' || (standard::json -> 'data') || '}';
    END IF;
    SELECT s.title, s.subject, s.lines INTO said FROM chat_message(whole) s;
    path := CASE WHEN base ~ '^https?://' THEN base || '/' || coalesce(path, '') END;
    RETURN CASE format
        WHEN 'slack' THEN slack_body(said.title, said.subject, said.lines, path)
        WHEN 'teams' THEN teams_body(said.title, said.subject, said.lines, path)
        WHEN 'discord' THEN discord_body(said.title, said.subject, said.lines, path, whole ->> 'type')
    END;
END $$;
COMMENT ON FUNCTION rowrun.webhook_body(text, text, text, text) IS 'Internal: a message in the format of a webhook.';

-- What the body of a format is, for the header.
CREATE OR REPLACE FUNCTION rowrun.webhook_content_type(format text) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN CASE format WHEN 'cloudevents' THEN 'application/cloudevents+json; charset=utf-8' ELSE 'application/json' END;
COMMENT ON FUNCTION rowrun.webhook_content_type(text) IS 'Internal: what the body of a format is.';
