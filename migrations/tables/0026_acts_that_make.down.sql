DELETE FROM rowrun.act WHERE verb IN ('define', 'create');
ALTER TABLE rowrun.act
    DROP CONSTRAINT act_verb_known,
    ADD CONSTRAINT act_verb_known CHECK (verb = ANY (ARRAY['run'::text, 'retry'::text, 'cancel'::text, 'abandon'::text, 'skip'::text, 'unskip'::text, 'pause'::text, 'resume'::text, 'drain'::text, 'limit'::text, 'redeliver'::text, 'test'::text, 'delete'::text, 'resume_wave'::text, 'roll_on'::text, 'give_up'::text]));
COMMENT ON COLUMN rowrun.act.verb IS 'What is done: run, retry, cancel, abandon, skip, unskip, pause, resume, drain, limit, delete, redeliver, test, resume_wave, roll_on, give_up.';
COMMENT ON COLUMN rowrun.act.targets IS 'Ids, or names of replicas; NULL: all that the filter names.';
COMMENT ON COLUMN rowrun.act.made IS 'The first 100 runs that it made.';
