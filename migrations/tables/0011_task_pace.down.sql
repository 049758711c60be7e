ALTER TABLE rowrun.task DROP COLUMN aging;
ALTER TABLE rowrun.task DROP COLUMN spread;
