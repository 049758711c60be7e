-- The last run of a job: the one that nothing follows. No row: all of it was deleted. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.last_of_job(root_id bigint) RETURNS TABLE (id bigint, task_id bigint, status text, awaited boolean) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT r.id, r.task_id, r.status, r.awaited FROM rowrun.task_run r WHERE r.id = last_of_job.root_id AND r.retry_run_id IS NULL
    UNION ALL
    SELECT r.id, r.task_id, r.status, r.awaited FROM rowrun.task_run r WHERE r.root_id = last_of_job.root_id AND r.attempt > 0 AND r.retry_run_id IS NULL
    LIMIT 1;
END;
COMMENT ON FUNCTION rowrun.last_of_job(bigint) IS 'Internal: the last run of a job.';

-- For which jobs runs still wait. A job that was deleted counts as its last status says: what is told here is that it wasn't DONE.
-- What a run waits for its own row says: who inserts runs can leave rows of run_after for any id (rowrun.await_runs).
CREATE OR REPLACE VIEW rowrun.unmet_after WITH (security_invoker = true) AS
SELECT w.run_id, w.root_id, n.id AS last_run_id, n.task_id, coalesce(n.status, w.outcome) AS status
FROM rowrun.run_after w LEFT JOIN LATERAL rowrun.last_of_job(w.root_id) n ON true
WHERE coalesce(n.status, w.outcome, 'DONE') <> 'DONE' AND (SELECT w.root_id = ANY (r.after) FROM rowrun.task_run r WHERE r.id = w.run_id);
COMMENT ON VIEW rowrun.unmet_after IS 'Internal: jobs that runs wait for (task_run.after) and that are not DONE.';

-- Whether a run still waits for other jobs: a job that is DONE stays so, so that this gate opens once. Asked only where the row says
-- that it has waited for any, and in PL/pgSQL, so that its plan is no part of a judgement's.
CREATE OR REPLACE FUNCTION rowrun.awaits_runs(run_id bigint) RETURNS boolean LANGUAGE plpgsql STABLE
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM rowrun.unmet_after u WHERE u.run_id = awaits_runs.run_id);
END $$;
COMMENT ON FUNCTION rowrun.awaits_runs(bigint) IS 'Internal: whether a run waits for other jobs.';
