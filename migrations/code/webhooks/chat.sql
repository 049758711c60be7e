-- What is said in a chat: a title, what it is about, and up to five lines of details, each short and on its line.
CREATE OR REPLACE FUNCTION rowrun.chat_message(message jsonb, OUT title text, OUT subject text, OUT lines text[]) LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    d jsonb := message -> 'data';
BEGIN
    title := left(chat_line(coalesce(d ->> 'message', message ->> 'type')), 120);
    subject := left(chat_line(concat_ws(', ', nullif(d ->> 'plan', ''), 'plan ' || (d ->> 'plan_id'), 'run ' || (d ->> 'run_id'),
        'task ' || (d ->> 'task_id'), 'type ' || (d ->> 'type'), 'project ' || nullif(d ->> 'project', 'default'))), 200);
    IF d ? 'failed_tasks' THEN
        SELECT array_agg(left(chat_line(coalesce(nullif(f ->> 'name', ''), 'Task ' || (f ->> 'task_id'))), 100)
                         || ': ' || left(chat_line(f ->> 'detail'), 290) ORDER BY n)
        INTO lines FROM jsonb_array_elements(d -> 'failed_tasks') WITH ORDINALITY AS x(f, n) WHERE n <= 5;
        IF (d ->> 'failed_task_count')::bigint > coalesce(cardinality(lines), 0) THEN
            lines := coalesce(lines[1:4], '{}');
            lines := lines || ('and ' || (d ->> 'failed_task_count')::bigint - cardinality(lines) || ' more');
        END IF;
    ELSIF d ->> 'detail' <> '' THEN
        lines := ARRAY[left(chat_line(d ->> 'detail'), 390)];
    END IF;
    lines := coalesce(lines, '{}');
END $$;
COMMENT ON FUNCTION rowrun.chat_message(jsonb) IS 'Internal: what is said of a message in a chat.';

CREATE OR REPLACE FUNCTION rowrun.chat_line(line text) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN regexp_replace(coalesce(line, ''), '[[:cntrl:][:space:]]+', ' ', 'g');
COMMENT ON FUNCTION rowrun.chat_line(text) IS 'Internal: a text on one line.';

CREATE OR REPLACE FUNCTION rowrun.slack_text(said text) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN replace(replace(replace(said, '&', '&amp;'), '<', '&lt;'), '>', '&gt;');
COMMENT ON FUNCTION rowrun.slack_text(text) IS 'Internal: a text with Slack''s escapes.';

-- Blocks of plain text, which is read for no markup; & < > are Slack's escapes in every text. The text is for notifications,
-- and for chats that take Slack's messages: those would read a mention in an @, so a space of no width stands behind it. It
-- is written as JSON's escape, as not every encoding has it.
CREATE OR REPLACE FUNCTION rowrun.slack_body(title text, subject text, lines text[], link text) RETURNS text LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, rowrun, pg_temp
    RETURN replace(jsonb_build_object(
        'text', rowrun.slack_text(title || coalesce(' (' || nullif(subject, '') || ')', '')),
        'blocks', jsonb_build_array(
                jsonb_build_object('type', 'section', 'text', jsonb_build_object('type', 'plain_text', 'emoji', false, 'text', rowrun.slack_text(title))))
            || CASE subject WHEN '' THEN '[]' ELSE jsonb_build_array(jsonb_build_object('type', 'context', 'elements',
                jsonb_build_array(jsonb_build_object('type', 'plain_text', 'emoji', false, 'text', rowrun.slack_text(subject))))) END
            || coalesce((SELECT jsonb_agg(jsonb_build_object('type', 'section', 'text',
                jsonb_build_object('type', 'plain_text', 'emoji', false, 'text', rowrun.slack_text(l))) ORDER BY n)
                FROM unnest(lines) WITH ORDINALITY AS x(l, n) WHERE l <> ''), '[]')
            || CASE WHEN link IS NULL THEN '[]' ELSE jsonb_build_array(jsonb_build_object('type', 'section', 'text',
                jsonb_build_object('type', 'mrkdwn', 'text', '<' || link || '|Open in Rowrun>'))) END)::text, '@', E'@\\u200b');
COMMENT ON FUNCTION rowrun.slack_body(text, text, text[], text) IS 'Internal: a message for Slack.';

-- Dates are the one thing that cards put into texts, behind two braces.
CREATE OR REPLACE FUNCTION rowrun.teams_text(said text, looks jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE
    RETURN jsonb_build_object('type', 'RichTextBlock', 'inlines', jsonb_build_array(
        looks || jsonb_build_object('type', 'TextRun', 'text', regexp_replace(said, '[{](?=[{])', '{ ', 'g'))));
COMMENT ON FUNCTION rowrun.teams_text(text, jsonb) IS 'Internal: a text of a card.';

-- An adaptive card of runs of text, which are read for no markup, other than text blocks. A mention would need an entity.
CREATE OR REPLACE FUNCTION rowrun.teams_body(title text, subject text, lines text[], link text) RETURNS text LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, rowrun, pg_temp
    RETURN jsonb_build_object('type', 'message', 'attachments', jsonb_build_array(jsonb_build_object(
        'contentType', 'application/vnd.microsoft.card.adaptive', 'contentUrl', NULL,
        'content', jsonb_build_object('$schema', 'http://adaptivecards.io/schemas/adaptive-card.json', 'type', 'AdaptiveCard', 'version', '1.4',
            'body', jsonb_build_array(rowrun.teams_text(title, '{"size": "Medium", "weight": "Bolder"}'))
                || CASE subject WHEN '' THEN '[]' ELSE jsonb_build_array(rowrun.teams_text(subject, '{"isSubtle": true}')) END
                || coalesce((SELECT jsonb_agg(rowrun.teams_text(l, '{}') ORDER BY n) FROM unnest(lines) WITH ORDINALITY AS x(l, n) WHERE l <> ''), '[]'))
            || CASE WHEN link IS NULL THEN '{}' ELSE jsonb_build_object('actions', jsonb_build_array(
                jsonb_build_object('type', 'Action.OpenUrl', 'title', 'Open in Rowrun', 'url', link))) END)))::text;
COMMENT ON FUNCTION rowrun.teams_body(text, text, text[], text) IS 'Internal: a message for Teams.';

-- A backslash takes its meaning from any sign.
CREATE OR REPLACE FUNCTION rowrun.discord_text(said text) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN regexp_replace(said, E'([][\\\\*_~`|>#()<@:!+.{}&-])', E'\\\\\\1', 'g');
COMMENT ON FUNCTION rowrun.discord_text(text) IS 'Internal: a text without Discord''s markup.';

-- An embed, in which nobody is mentioned, and of which nothing may be. Title and description hold 256 and 4,096 characters: a line is
-- cut before each of its signs may become two.
CREATE OR REPLACE FUNCTION rowrun.discord_body(title text, subject text, lines text[], link text, event text) RETURNS text LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, rowrun, pg_temp
    RETURN jsonb_build_object('allowed_mentions', '{"parse": []}'::jsonb, 'embeds', jsonb_build_array(
        jsonb_build_object('title', rowrun.discord_text(title), 'description', array_to_string(ARRAY(
                SELECT rowrun.discord_text(left(l, 360)) FROM unnest(array_remove(ARRAY[subject], '') || lines) WITH ORDINALITY AS x(l, n) ORDER BY n), E'\n'),
            'color', CASE event WHEN 'PIPELINE_COMPLETED' THEN 3066993 WHEN 'TEST' THEN 3447003 WHEN 'SCHEDULE_PAUSED' THEN 15105570 WHEN 'TYPE_ORPHANED' THEN 15105570 ELSE 15158332 END)
        || CASE WHEN link IS NULL THEN '{}' ELSE jsonb_build_object('url', link) END))::text;
COMMENT ON FUNCTION rowrun.discord_body(text, text, text[], text, text) IS 'Internal: a message for Discord.';
