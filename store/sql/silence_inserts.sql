-- silence_inserts
-- Has INSERTs notify nobody as long as this session lives.
-- Returns: whether it does; false: somebody notifies right now, or another session has it
SELECT pg_try_advisory_lock(1920298607, 3)
