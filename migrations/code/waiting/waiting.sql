-- In place of its call, so that who reads only some of the rows has only some of the pages asked; small, so that a session
-- doesn't compile it.
CREATE OR REPLACE FUNCTION rowrun.waiting(run_id bigint DEFAULT NULL)
    RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT w.run_id, w.cause, w.message, w.detail FROM rowrun.waits_for(ARRAY[waiting.run_id]) w
    WHERE waiting.run_id IS NOT NULL
    UNION ALL
    SELECT w.run_id, w.cause, w.message, w.detail FROM rowrun.waiting_pages() p CROSS JOIN LATERAL rowrun.waits_for(p.ids) w
    WHERE waiting.run_id IS NULL;
END;
COMMENT ON FUNCTION rowrun.waiting(bigint) IS 'Why a run is not running: all causes that hold; NULL: of every run that waits.';
