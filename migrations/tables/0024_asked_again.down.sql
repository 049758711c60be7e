ALTER TABLE rowrun.limit_holder DROP COLUMN asked_again;
