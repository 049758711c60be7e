-- The safety net: up to so many tasks after one, in the order of ids, get the run that they should have (rows were
-- deleted or restored). Returns the last task looked at, NULL behind the last, and how many runs were made.
CREATE OR REPLACE FUNCTION rowrun.schedule_sweep(after_id bigint, most integer, OUT last_id bigint, OUT made integer) LANGUAGE plpgsql
    SET enable_seqscan = off
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
DECLARE
    due record;
BEGIN
    made := 0;
    FOR due IN
        SELECT k.id FROM (
            SELECT x.id, x.schedule_parts <> '{}' AND NOT x.skipped AND x.schedule_error IS NULL
                       AND coalesce(x.ends_at > clock_timestamp(), true) AS active
            FROM rowrun.task x WHERE x.schedule IS NOT NULL AND x.id > after_id ORDER BY x.id LIMIT most) k
        WHERE k.active AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = k.id AND r.tick IS NOT NULL
                                          AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
        ORDER BY k.id
    LOOP
        PERFORM FROM rowrun.task x WHERE x.id = due.id FOR NO KEY UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        BEGIN
            IF rowrun.schedule_task(due.id, false, false) THEN
                made := made + 1;
            END IF;
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected OR serialization_failure OR insufficient_privilege THEN
                RAISE;
            WHEN insufficient_resources OR operator_intervention OR system_error OR internal_error THEN
                NULL; -- the server's, and it may be over at the next sweep
            WHEN OTHERS THEN
                PERFORM rowrun.pause_schedule(due.id, SQLERRM || ' (SQLSTATE ' || SQLSTATE || ')');
        END;
    END LOOP;
    SELECT max(x.id) INTO last_id FROM (SELECT k.id FROM rowrun.task k WHERE k.schedule IS NOT NULL AND k.id > after_id ORDER BY k.id LIMIT most) x
    HAVING count(*) = most;
END $$;
COMMENT ON FUNCTION rowrun.schedule_sweep(bigint, integer) IS 'Internal: runs for schedules that have none.';
