ALTER TABLE rowrun.task_run DROP COLUMN replica_id, DROP COLUMN claim_hash;
DROP TABLE rowrun.replica_heartbeat;
