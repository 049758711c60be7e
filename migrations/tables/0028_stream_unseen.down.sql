ALTER TABLE rowrun.stream_handover DROP COLUMN unseen;
