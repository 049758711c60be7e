-- Schedules that are due at one moment are started one after the other.
ALTER TABLE rowrun.task ADD COLUMN spread interval
    CONSTRAINT task_spread_0_to_1_year CHECK (spread >= '00:00:00'::interval AND spread <= '1 year'::interval);
COMMENT ON COLUMN rowrun.task.spread IS 'By how much at most the runs of its ticks are put off: by as much each time, which its id decides. At most the shortest time between two ticks; NULL: by nothing.';
-- Priorities that grow while a run waits.
ALTER TABLE rowrun.task ADD COLUMN aging interval
    CONSTRAINT task_aging_1_second_to_1_year CHECK (aging >= '00:00:01'::interval AND aging <= '1 year'::interval);
COMMENT ON COLUMN rowrun.task.aging IS 'The priority of a run that is due grows by one for each such interval that it waits; it holds for runs inserted from then on. NULL: it doesn''t grow.';
