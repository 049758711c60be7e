-- Acts: what operators have asked for on the dashboard, each once, and how far it is.

CREATE TABLE rowrun.act (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id  uuid NOT NULL UNIQUE,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    verb        text NOT NULL CONSTRAINT act_verb_known CHECK (verb IN ('run', 'retry', 'cancel', 'abandon', 'skip', 'unskip', 'pause', 'resume', 'limit', 'redeliver', 'test')),
    kind        text NOT NULL CONSTRAINT act_kind_known CHECK (kind IN ('run', 'task', 'plan', 'delivery', 'replica', 'webhook')),
    asked_by    text NOT NULL CONSTRAINT act_asked_by_1_to_200_bytes CHECK (asked_by <> '' AND octet_length(asked_by) <= 200),
    role        text NOT NULL DEFAULT session_user,
    targets     text[] CONSTRAINT act_targets_1_to_1000 CHECK (cardinality(targets) >= 1 AND cardinality(targets) <= 1000 AND array_position(targets, NULL) IS NULL),
    filter      jsonb CONSTRAINT act_filter_an_object CHECK (jsonb_typeof(filter) = 'object'),
    search      jsonb CONSTRAINT act_search_an_object CHECK (jsonb_typeof(search) = 'object' AND octet_length(search::text) <= 1048576),
    args        jsonb NOT NULL DEFAULT '{}' CONSTRAINT act_args_an_object CHECK (jsonb_typeof(args) = 'object' AND octet_length(args::text) <= 65536),
    expected    integer,
    capped      boolean NOT NULL DEFAULT false,
    position    bigint NOT NULL DEFAULT 0,
    bound       bigint NOT NULL DEFAULT 0,
    done        integer NOT NULL DEFAULT 0,
    unchanged   integer NOT NULL DEFAULT 0,
    failed      integer NOT NULL DEFAULT 0,
    failures    jsonb NOT NULL DEFAULT '[]',
    made        bigint[] NOT NULL DEFAULT '{}',
    state       text NOT NULL DEFAULT 'RUNNING' CONSTRAINT act_state_running_done_or_stopped CHECK (state IN ('RUNNING', 'DONE', 'STOPPED')),
    stopped_by  text CONSTRAINT act_stopped_by_1_to_200_bytes CHECK (stopped_by <> '' AND octet_length(stopped_by) <= 200),
    ended_at    timestamptz,
    CONSTRAINT act_by_targets_or_filter CHECK ((targets IS NULL) <> (search IS NULL))
) WITH (fillfactor = 50);
CREATE INDEX act_unfinished ON rowrun.act (id) WHERE state = 'RUNNING';
CREATE INDEX act_created ON rowrun.act (created_at);
COMMENT ON TABLE rowrun.act IS 'What operators have asked for on the dashboard, each once, and how far it is; kept for 30 days.';
COMMENT ON COLUMN rowrun.act.id IS 'Key.';
COMMENT ON COLUMN rowrun.act.request_id IS 'Drawn by who asks: what is asked again under it is not done again.';
COMMENT ON COLUMN rowrun.act.created_at IS 'When it was asked for.';
COMMENT ON COLUMN rowrun.act.verb IS 'What is done: run, retry, cancel, abandon, skip, unskip, pause, resume, limit, redeliver, test.';
COMMENT ON COLUMN rowrun.act.kind IS 'To what: run, task, plan, delivery, replica, webhook.';
COMMENT ON COLUMN rowrun.act.asked_by IS 'Who asked, by the name of the token that was shown.';
COMMENT ON COLUMN rowrun.act.role IS 'The database role of the process that was asked.';
COMMENT ON COLUMN rowrun.act.targets IS 'Ids, or names of replicas; NULL: all that the filter names.';
COMMENT ON COLUMN rowrun.act.filter IS 'The filter as it was asked for; NULL: there is none.';
COMMENT ON COLUMN rowrun.act.search IS 'Internal: the filter as it is searched with, narrowed to what can be acted on.';
COMMENT ON COLUMN rowrun.act.args IS 'reason, limit.';
COMMENT ON COLUMN rowrun.act.expected IS 'How many were named or found when it began; NULL: they were not counted.';
COMMENT ON COLUMN rowrun.act.capped IS 'There may have been more than expected.';
COMMENT ON COLUMN rowrun.act.position IS 'Internal: how many targets, or up to which id, it has come.';
COMMENT ON COLUMN rowrun.act.bound IS 'Internal: by filter nothing above this id is acted on: it came later.';
COMMENT ON COLUMN rowrun.act.done IS 'How many were acted on.';
COMMENT ON COLUMN rowrun.act.unchanged IS 'Where there was nothing to do.';
COMMENT ON COLUMN rowrun.act.failed IS 'Where it was refused.';
COMMENT ON COLUMN rowrun.act.failures IS 'Why: the first 100.';
COMMENT ON COLUMN rowrun.act.made IS 'The first 100 runs that it made.';
COMMENT ON COLUMN rowrun.act.state IS 'RUNNING, DONE, or STOPPED: what it had done by then stays.';
COMMENT ON COLUMN rowrun.act.stopped_by IS 'Who stopped it.';
COMMENT ON COLUMN rowrun.act.ended_at IS 'When it was DONE or STOPPED.';

-- As in the baseline: text that has no equivalent in UTF-8 is refused where it comes in.
DO $$
BEGIN
    IF pg_catalog.getdatabaseencoding() NOT IN ('UTF8', 'SQL_ASCII') THEN
        ALTER TABLE rowrun.act ADD CONSTRAINT act_in_utf8 CHECK (pg_catalog.octet_length(pg_catalog.convert_to(
            pg_catalog.concat(asked_by, stopped_by, targets::text, filter::text, search::text, args::text, failures::text), 'UTF8')) >= 0);
    END IF;
END $$;
