DROP INDEX rowrun.task_wave;
ALTER TABLE rowrun.task DROP COLUMN wave;
