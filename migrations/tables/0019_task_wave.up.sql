ALTER TABLE rowrun.task ADD COLUMN wave integer CONSTRAINT task_wave_positive CHECK (wave > 0);
CREATE INDEX task_wave ON rowrun.task (plan_id, wave, outcome) WHERE wave IS NOT NULL;
COMMENT ON COLUMN rowrun.task.wave IS 'The wave of its plan that its runs wait for; NULL: none.';
