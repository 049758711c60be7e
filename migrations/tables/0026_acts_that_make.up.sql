-- Acts of the API that make a task or a plan.
ALTER TABLE rowrun.act
    DROP CONSTRAINT act_verb_known,
    ADD CONSTRAINT act_verb_known CHECK (verb = ANY (ARRAY['run'::text, 'retry'::text, 'cancel'::text, 'abandon'::text, 'skip'::text, 'unskip'::text, 'pause'::text, 'resume'::text, 'drain'::text, 'limit'::text, 'redeliver'::text, 'test'::text, 'delete'::text, 'resume_wave'::text, 'roll_on'::text, 'give_up'::text, 'define'::text, 'create'::text]));
COMMENT ON COLUMN rowrun.act.verb IS 'What is done: run, retry, cancel, abandon, skip, unskip, pause, resume, drain, limit, delete, redeliver, test, resume_wave, roll_on, give_up, define, create.';
COMMENT ON COLUMN rowrun.act.targets IS 'Ids, or names of replicas, limits, and of what is run by its name or made; NULL: all that the filter names.';
COMMENT ON COLUMN rowrun.act.made IS 'The first 100 runs that it made; of define the task, of create the plan.';
