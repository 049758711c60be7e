-- claim_stream
-- Tries to take the lock whose holder writes the stream; it lasts as long as the session. In a copy of another deployment
-- nobody gets it.
-- Returns: whether the session has it now; the replica that last began to write ('': none)
SELECT CASE WHEN rowrun.deployment_elsewhere() THEN false ELSE pg_try_advisory_lock(1920298607, 2) END, coalesce(stream_replica_id, '') FROM rowrun.deployment
