-- drop_stream_slot
-- Drops the stream's slot of this database. 55006 while it is read.
-- $1 name: its name
-- Returns: one row where there was one
SELECT pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots
WHERE slot_name = $1 AND database = current_database()
