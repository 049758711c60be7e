-- Acts of the dashboard on limits.
ALTER TABLE rowrun.act
    DROP CONSTRAINT act_verb_known,
    ADD CONSTRAINT act_verb_known CHECK (verb = ANY (ARRAY['run'::text, 'retry'::text, 'cancel'::text, 'abandon'::text, 'skip'::text, 'unskip'::text, 'pause'::text, 'resume'::text, 'drain'::text, 'limit'::text, 'redeliver'::text, 'test'::text, 'delete'::text])),
    DROP CONSTRAINT act_kind_known,
    ADD CONSTRAINT act_kind_known CHECK (kind = ANY (ARRAY['run'::text, 'task'::text, 'plan'::text, 'delivery'::text, 'replica'::text, 'webhook'::text, 'limit'::text]));
COMMENT ON COLUMN rowrun.act.verb IS 'What is done: run, retry, cancel, abandon, skip, unskip, pause, resume, drain, limit, delete, redeliver, test.';
COMMENT ON COLUMN rowrun.act.kind IS 'To what: run, task, plan, delivery, replica, webhook, limit.';
