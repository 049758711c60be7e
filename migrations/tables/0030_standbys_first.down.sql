ALTER TABLE rowrun.stream_position DROP COLUMN standbys_first;
