ALTER TABLE rowrun.limit_clock DROP COLUMN weighed;
