ALTER TABLE rowrun.task DROP COLUMN retention_by_status;
