-- claim_stream
-- Tries to take the lock whose holder writes the stream; it lasts as long as the session. In a copy of another deployment
-- nobody gets it.
-- Returns: whether the session has it now; the replica that last began to write ('': none); the present moment and what was
--   committed before that, a pg_snapshot
SELECT CASE WHEN rowrun.deployment_elsewhere() THEN false ELSE pg_try_advisory_lock(1920298607, 2) END, coalesce(stream_replica_id, ''),
       clock_timestamp(), pg_current_snapshot()::text
FROM rowrun.deployment
