ALTER TABLE rowrun.replica_heartbeat DROP COLUMN type_concurrency;
ALTER TABLE rowrun.deployment DROP COLUMN last_alive_at;
DROP TABLE rowrun.recovery;
ALTER TABLE rowrun.replica_heartbeat DROP COLUMN release;
ALTER TABLE rowrun.replica_heartbeat DROP COLUMN engines;
ALTER TABLE rowrun.replica_heartbeat DROP COLUMN reserve;
