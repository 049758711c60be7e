-- A schedule that can't be followed any more pauses its task, and nothing else suffers: the end of a run least of all.
CREATE OR REPLACE FUNCTION rowrun.pause_schedule(task_id bigint, reason text) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    UPDATE rowrun.task k SET paused = true, schedule_error = left(pause_schedule.reason, 1000)
    WHERE k.id = pause_schedule.task_id AND k.schedule_error IS NULL;
    IF NOT FOUND THEN
        RETURN; -- it was, and that was said
    END IF;
    INSERT INTO rowrun.stream_note (level, event, message, detail)
    SELECT 'warn', 'task.schedule_paused', 'schedule paused: it can''t be followed any more',
           jsonb_build_object('task_id', k.id, 'task', k.name, 'schedule', k.schedule, 'time_zone', k.time_zone, 'detail', k.schedule_error)
    FROM rowrun.task k WHERE k.id = pause_schedule.task_id;
    PERFORM rowrun.announce_pause(pause_schedule.task_id);
END $$;
COMMENT ON FUNCTION rowrun.pause_schedule(bigint, text) IS 'Internal: pauses a task whose schedule can''t be followed.';

-- The next runs after these have ended for good, of tasks that recur; the tasks are locked, so that whoever changes a
-- schedule meanwhile either finds the new run or is seen here. All that a run's bounds may refuse is computed, and kept within
-- them, before the INSERT: that stands in no subtransaction, as its rows would carry the number of that, and who reads the
-- stream from rows knows those of transactions.
CREATE OR REPLACE FUNCTION rowrun.schedule_after(run_ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off -- the table may have grown since statistics were made, by this very statement
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
DECLARE
    t timestamptz := clock_timestamp();
    pair record;
    coming timestamptz;
    due timestamptz;
    late timestamptz;
    tasks bigint[] := '{}';
    ticks timestamptz[] := '{}';
    dues timestamptz[] := '{}';
    missed timestamptz[] := '{}';
BEGIN
    FOR pair IN SELECT k, r AS run FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
                WHERE r.id = ANY (run_ids) ORDER BY k.id FOR NO KEY UPDATE OF k
    LOOP
        BEGIN
            coming := rowrun.tick_that_follows(pair.k, pair.run, t);
            due := greatest(coming + rowrun.spread_of(pair.k), t);
            late := rowrun.missed_at(pair.k, due);
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected OR serialization_failure OR insufficient_privilege THEN
                RAISE;
            WHEN insufficient_resources OR operator_intervention OR system_error OR internal_error THEN
                coming := NULL; -- the server's, and it may be over when a sweep makes the run
            WHEN OTHERS THEN
                coming := NULL;
                PERFORM rowrun.pause_schedule((pair.k).id, SQLERRM || ' (SQLSTATE ' || SQLSTATE || ')');
        END;
        IF coming IS NOT NULL THEN
            tasks := tasks || (pair.k).id;
            ticks := ticks || coming;
            dues := dues || due;
            missed := missed || late;
        END IF;
    END LOOP;
    IF tasks <> '{}' THEN
        PERFORM set_config('rowrun.scheduling', 'on', true);
        INSERT INTO rowrun.task_run (id, task_id, tick, run_at, missed_at)
        SELECT rowrun.next_run_id(), n.task_id, n.tick, n.due, n.missed FROM unnest(tasks, ticks, dues, missed) n(task_id, tick, due, missed)
        ON CONFLICT DO NOTHING;
        PERFORM set_config('rowrun.scheduling', 'off', true);
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.schedule_after(bigint[]) IS 'Internal: the next runs after these.';

-- What the end of runs means for tasks that recur: kept are DONE runs whose result has a state, over are runs with a
-- tick that get no successor.
CREATE OR REPLACE FUNCTION rowrun.schedule_ended(kept bigint[], over bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
BEGIN
    IF kept IS NOT NULL THEN
        PERFORM FROM rowrun.task k WHERE k.schedule IS NOT NULL
            AND k.id = ANY (ARRAY(SELECT r.task_id FROM rowrun.task_run r WHERE r.id = ANY (kept || over))) ORDER BY k.id FOR NO KEY UPDATE;
        UPDATE rowrun.task k SET state = r.result -> 'state'
        FROM rowrun.task_run r
        WHERE r.id = ANY (kept) AND k.id = r.task_id AND k.schedule IS NOT NULL AND coalesce(r.status, '') = 'DONE';
    END IF;
    IF over IS NOT NULL THEN
        PERFORM rowrun.schedule_after(over);
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.schedule_ended(bigint[], bigint[]) IS 'Internal: state and next run of tasks whose runs have ended.';
