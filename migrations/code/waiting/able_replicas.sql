-- Live replicas that could run a run of this kind.
CREATE OR REPLACE FUNCTION rowrun.able_replicas(r rowrun.task_run, t timestamptz) RETURNS TABLE (replica_id text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT h.replica_id
    FROM rowrun.replica_heartbeat h CROSS JOIN (SELECT k.payload FROM rowrun.task k WHERE k.id = r.task_id) k
    WHERE rowrun.takes(h, t, r.queue, r.type, r.database_id, k.payload);
END;
COMMENT ON FUNCTION rowrun.able_replicas(rowrun.task_run, timestamptz) IS 'Internal: live replicas that could run a run.';
