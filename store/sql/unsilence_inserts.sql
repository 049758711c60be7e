-- unsilence_inserts
-- Has INSERTs notify again.
-- Returns: whether this session had silenced them
SELECT pg_advisory_unlock(1920298607, 3)
