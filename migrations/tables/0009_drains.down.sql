ALTER TABLE rowrun.act DROP COLUMN runs;
DELETE FROM rowrun.act WHERE verb = 'drain';
ALTER TABLE rowrun.act DROP CONSTRAINT act_verb_known;
ALTER TABLE rowrun.act ADD CONSTRAINT act_verb_known CHECK (verb = ANY (ARRAY['run'::text, 'retry'::text, 'cancel'::text, 'abandon'::text, 'skip'::text,
    'unskip'::text, 'pause'::text, 'resume'::text, 'limit'::text, 'redeliver'::text, 'test'::text]));
COMMENT ON COLUMN rowrun.act.verb IS 'What is done: run, retry, cancel, abandon, skip, unskip, pause, resume, limit, redeliver, test.';
ALTER TABLE rowrun.replica_heartbeat DROP COLUMN drain_requested_at;
