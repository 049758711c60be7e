-- ping
-- Returns: whether the server is a standby
SELECT pg_is_in_recovery()
