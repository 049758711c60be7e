ALTER TABLE rowrun.replica_heartbeat DROP COLUMN type_concurrency;
ALTER TABLE rowrun.deployment DROP COLUMN last_alive_at;
DROP TABLE rowrun.recovery;
