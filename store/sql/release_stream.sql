-- release_stream
-- Gives the lock of claim_stream back.
-- Returns: whether the session had it
SELECT pg_advisory_unlock(1920298607, 2)
