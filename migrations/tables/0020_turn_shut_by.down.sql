DROP INDEX rowrun.limit_turn_open;
ALTER TABLE rowrun.limit_turn DROP COLUMN shut_by;
