ALTER TABLE rowrun.replica_heartbeat DROP COLUMN set_aside;
