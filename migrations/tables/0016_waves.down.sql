DROP INDEX rowrun.task_wave;
ALTER TABLE rowrun.task DROP COLUMN wave;
DROP TABLE rowrun.plan_wave;
ALTER TABLE rowrun.replica_heartbeat DROP COLUMN set_aside;
