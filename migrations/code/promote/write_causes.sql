-- Writes what holds PENDING runs that the caller holds, where that isn't what their rows say.
CREATE OR REPLACE FUNCTION rowrun.write_causes(run_ids bigint[], causes text[]) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    UPDATE task_run r SET cause = v.cause, judge_at = NULL, limit_wait = NULL, prev_status = NULL
    FROM unnest(run_ids, causes) v(id, cause)
    WHERE r.id = v.id AND v.cause NOT IN ('RUN_AT', 'SKIPPED', 'MISSED', 'LIMIT') AND (r.cause IS DISTINCT FROM v.cause OR r.judge_at IS NOT NULL);
    IF 'RUN_AT' = ANY (causes) THEN
        UPDATE task_run r SET cause = NULL, judge_at = r.run_at, limit_wait = NULL, prev_status = NULL
        FROM unnest(run_ids, causes) v(id, cause)
        WHERE r.id = v.id AND v.cause = 'RUN_AT' AND (r.cause IS NOT NULL OR r.judge_at IS DISTINCT FROM r.run_at);
    END IF;
    IF 'MISSED' = ANY (causes) THEN
        PERFORM rowrun.skip_missed(ARRAY(SELECT v.id FROM unnest(run_ids, causes) v(id, cause) WHERE v.cause = 'MISSED'));
    END IF;
    IF 'SKIPPED' = ANY (causes) THEN
        UPDATE task_run r
        SET status = 'CANCELED', cancel_reason = 'task skipped'
        FROM unnest(run_ids, causes) v(id, cause)
        WHERE r.id = v.id AND v.cause = 'SKIPPED';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.write_causes(bigint[], text[]) IS 'Internal: writes what holds PENDING runs.';
