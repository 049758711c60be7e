-- Ids for rows that the sidecar makes: the next of the sequence that is free. Rows that were restored may be ahead of it,
-- and what stands as the root of a chain whose first run is gone, or of a job that runs wait for, is no new run's. Asked only where a row is made beside
-- others that must not fail with it; an INSERT of a user's draws its id as ever.
CREATE OR REPLACE FUNCTION rowrun.next_run_id() RETURNS bigint LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, rowrun, pg_temp
    SET enable_seqscan = off
AS $$
DECLARE
    drawn bigint;
BEGIN
    LOOP
        drawn := nextval('rowrun.task_run_id_seq');
        EXIT WHEN NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.id = drawn)
              AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.root_id = drawn AND r.attempt > 0 AND r.retry_run_id IS NULL)
              AND NOT EXISTS (SELECT FROM rowrun.run_after w JOIN rowrun.task_run r ON r.id = w.run_id WHERE w.root_id = drawn AND w.outcome IS NOT NULL AND r.after IS NOT NULL);
    END LOOP;
    RETURN drawn;
END $$;
COMMENT ON FUNCTION rowrun.next_run_id() IS 'Internal: the next free id of a run.';

CREATE OR REPLACE FUNCTION rowrun.next_log_id() RETURNS bigint LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, rowrun, pg_temp
    SET enable_seqscan = off
AS $$
DECLARE
    drawn bigint;
BEGIN
    LOOP
        drawn := nextval('rowrun.task_run_log_id_seq');
        EXIT WHEN NOT EXISTS (SELECT FROM rowrun.task_run_log l WHERE l.id = drawn);
    END LOOP;
    RETURN drawn;
END $$;
COMMENT ON FUNCTION rowrun.next_log_id() IS 'Internal: the next free id of a row in a run''s log.';
