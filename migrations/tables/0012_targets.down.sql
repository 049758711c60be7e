ALTER TABLE rowrun.replica_heartbeat DROP COLUMN engines;
