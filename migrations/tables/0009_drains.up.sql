-- Replicas are asked to drain, and acts remember which runs they were about.

ALTER TABLE rowrun.replica_heartbeat ADD COLUMN drain_requested_at timestamptz;
COMMENT ON COLUMN rowrun.replica_heartbeat.drain_requested_at IS 'Since when it is to end what it runs and stop, because an operator said so; NULL: it isn''t.';

ALTER TABLE rowrun.act DROP CONSTRAINT act_verb_known;
ALTER TABLE rowrun.act ADD CONSTRAINT act_verb_known CHECK (verb = ANY (ARRAY['run'::text, 'retry'::text, 'cancel'::text, 'abandon'::text, 'skip'::text,
    'unskip'::text, 'pause'::text, 'resume'::text, 'drain'::text, 'limit'::text, 'redeliver'::text, 'test'::text]));
COMMENT ON COLUMN rowrun.act.verb IS 'What is done: run, retry, cancel, abandon, skip, unskip, pause, resume, drain, limit, redeliver, test.';
ALTER TABLE rowrun.act ADD COLUMN runs bigint[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN rowrun.act.runs IS 'The first 10,000 runs that it made, or that it canceled or abandoned by name or filter.';
