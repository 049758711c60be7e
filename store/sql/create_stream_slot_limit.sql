-- create_stream_slot_limit
-- Bounds how long the transaction waits for create_stream_slot.
-- $1 text: milliseconds
-- Returns: both settings
SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $1, true)
