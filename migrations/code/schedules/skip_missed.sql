-- Moves runs whose tick was missed, and is to be skipped, to the next tick. The caller holds them.
CREATE OR REPLACE FUNCTION rowrun.skip_missed(run_ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
DECLARE
    t timestamptz := clock_timestamp();
    k rowrun.task;
    run rowrun.task_run;
    nothing rowrun.task_run;
    coming timestamptz;
    due timestamptz;
    problem text;
BEGIN
    PERFORM set_config('rowrun.scheduling', 'on', true);
    FOR run IN SELECT r.* FROM rowrun.task_run r WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING' ORDER BY r.id LOOP
        SELECT x.* INTO k FROM rowrun.task x WHERE x.id = run.task_id;
        problem := NULL;
        coming := NULL;
        BEGIN
            coming := rowrun.tick_that_follows(k, nothing, t);
            due := coming + rowrun.spread_of(k);
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected OR serialization_failure OR insufficient_privilege
                OR insufficient_resources OR operator_intervention OR system_error THEN
                RAISE;
            WHEN OTHERS THEN
                problem := SQLERRM || ' (SQLSTATE ' || SQLSTATE || ')';
        END;
        IF coming IS NOT NULL THEN
            UPDATE rowrun.task_run r SET tick = coming, run_at = due, missed_at = rowrun.missed_at(k, due) WHERE r.id = run.id;
        ELSE
            PERFORM rowrun.cancel_tick(run.id, 'its tick was missed, and no other comes');
        END IF;
        IF problem IS NOT NULL THEN
            PERFORM rowrun.pause_schedule(k.id, problem);
        END IF;
    END LOOP;
    PERFORM set_config('rowrun.scheduling', 'off', true);
END $$;
COMMENT ON FUNCTION rowrun.skip_missed(bigint[]) IS 'Internal: moves runs whose tick was missed to the next one.';
