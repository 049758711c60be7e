ALTER TABLE rowrun.task_run DROP COLUMN age_at;
ALTER TABLE rowrun.task DROP COLUMN aging;
ALTER TABLE rowrun.replica_heartbeat DROP COLUMN reserve;
ALTER TABLE rowrun.task DROP COLUMN spread;
