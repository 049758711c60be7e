ALTER TABLE rowrun.plan ADD COLUMN on_finish_task text;
COMMENT ON COLUMN rowrun.plan.on_finish_task IS 'Name or id of a task without a plan that is run once for each round of the plan, when the round is complete or has failed, with the round as its input.';
