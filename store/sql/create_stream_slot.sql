-- create_stream_slot
-- Makes the replication slot of the stream.
-- $1 name: its name
-- Returns: one row without a column
SELECT FROM pg_create_logical_replication_slot($1, 'pgoutput')
