-- Writes what holds PENDING runs that the caller holds, where that isn't what their rows say.
CREATE OR REPLACE FUNCTION rowrun.hold_runs(run_ids bigint[], holds text[]) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    UPDATE task_run r SET hold = v.hold, judge_at = NULL, prev_status = NULL
    FROM unnest(run_ids, holds) v(id, hold)
    WHERE r.id = v.id AND v.hold NOT IN ('TIME', 'SKIPPED', 'MISSED') AND (r.hold IS DISTINCT FROM v.hold OR r.judge_at IS NOT NULL);
    IF 'TIME' = ANY (holds) THEN
        UPDATE task_run r SET hold = NULL, judge_at = r.run_at, prev_status = NULL
        FROM unnest(run_ids, holds) v(id, hold)
        WHERE r.id = v.id AND v.hold = 'TIME' AND (r.hold IS NOT NULL OR r.judge_at IS DISTINCT FROM r.run_at);
    END IF;
    IF 'MISSED' = ANY (holds) THEN
        PERFORM rowrun.skip_missed(ARRAY(SELECT v.id FROM unnest(run_ids, holds) v(id, hold) WHERE v.hold = 'MISSED'));
    END IF;
    IF 'SKIPPED' = ANY (holds) THEN
        UPDATE task_run r
        SET status = 'CANCELED', cancel_reason = 'task skipped'
        FROM unnest(run_ids, holds) v(id, hold)
        WHERE r.id = v.id AND v.hold = 'SKIPPED';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.hold_runs(bigint[], text[]) IS 'Internal: writes what holds PENDING runs.';
