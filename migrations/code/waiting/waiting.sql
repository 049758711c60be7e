CREATE OR REPLACE FUNCTION rowrun.waiting(run_id bigint DEFAULT NULL)
    RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT r.id, c.cause, c.message, c.detail FROM rowrun.task_run r CROSS JOIN LATERAL rowrun.waits_for(r) c
    WHERE waiting.run_id IS NOT NULL AND r.id = waiting.run_id AND r.status IN ('PENDING', 'AVAILABLE')
    UNION ALL
    SELECT r.id, c.cause, c.message, c.detail FROM rowrun.task_run r CROSS JOIN LATERAL rowrun.waits_for(r) c
    WHERE waiting.run_id IS NULL AND r.status IN ('PENDING', 'AVAILABLE');
END;
COMMENT ON FUNCTION rowrun.waiting(bigint) IS 'Why a run is not running: all causes that hold; NULL: of every run that waits.';
