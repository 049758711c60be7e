-- The tick that follows a run of a task, at the moment that. A tick that is not in the future was missed before the run
-- could start (misfire says what becomes of it) or passed while the run was under way (overlap does); those that had
-- passed when the run became due are the rest of a queue. A retry is part of the run that it follows: what counts is when the
-- first of the chain was due, and started. run is NULL where there was none.
-- What a spread puts off passes later by just that: all is asked by a clock that is as much behind. The delay of @after counts from
-- the moment itself.
CREATE OR REPLACE FUNCTION rowrun.tick_that_follows(k rowrun.task, run rowrun.task_run, that timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    -- One tick of @every, @after and cron in one way: what begins later has its first tick then.
    grid CONSTANT timestamptz := coalesce(k.starts_at, k.created_at);
    floor CONSTANT timestamptz := greatest(k.scheduled_at, k.starts_at - interval '1 us');
    spread CONSTANT interval := rowrun.spread_of(k);
    shown CONSTANT timestamptz := that - spread;
    due CONSTANT timestamptz := coalesce((SELECT r.run_at FROM rowrun.task_run r WHERE run.attempt > 0 AND r.id = run.root_id), run.run_at) - spread;
    begun CONSTANT timestamptz := coalesce((SELECT r.started_at FROM rowrun.task_run r WHERE run.attempt > 0 AND r.id = run.root_id), run.started_at, that) - spread;
    coming timestamptz;
BEGIN
    IF k.schedule IS NULL OR cardinality(k.schedule_parts) = 0 OR k.skipped OR k.schedule_error IS NOT NULL OR k.plan_id IS NOT NULL THEN
        RETURN NULL;
    ELSIF cardinality(k.schedule_parts) = 2 THEN
        coming := CASE WHEN k.starts_at > that THEN k.starts_at ELSE rowrun.tick_after(k.schedule_parts, k.time_zone, that, NULL) END;
    ELSE
        coming := rowrun.tick_after(k.schedule_parts, k.time_zone, greatest(coalesce(run.tick, shown), floor), grid);
        IF coming <= shown AND NOT (coming <= due AND (k.misfire = 'ALL' OR k.overlap = 'QUEUE')) THEN
            IF coming <= begun AND k.misfire <> 'ALL' THEN
                coming := rowrun.tick_after(k.schedule_parts, k.time_zone, greatest(begun, floor), grid);
            END IF;
            IF coming <= shown AND NOT (coming <= begun OR k.overlap = 'QUEUE') THEN
                coming := rowrun.tick_after(k.schedule_parts, k.time_zone, shown, grid);
            END IF;
        END IF;
    END IF;
    -- One that was brought forward by hand has been run.
    WHILE coming > shown AND EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = k.id AND r.tick = coming
                                  AND r.tick IS NOT NULL AND r.attempt = 0 AND r.status <> 'CANCELED' AND r.status <> 'PENDING') LOOP
        coming := rowrun.tick_after(k.schedule_parts, k.time_zone, coming, grid);
    END LOOP;
    -- None whose run would be due beyond what a run may say: that run's INSERT would fail, and with it the end before it.
    RETURN CASE WHEN coming <= coalesce(k.ends_at, 'infinity') AND coming + spread < timestamptz '9999-01-01 00:00+00' THEN coming END;
END $$;
COMMENT ON FUNCTION rowrun.tick_that_follows(rowrun.task, rowrun.task_run, timestamptz) IS 'Internal: the tick that follows a run.';

-- When a run that is due at a moment counts as missed: a minute late, or as late as the next tick of @every.
CREATE OR REPLACE FUNCTION rowrun.missed_at(k rowrun.task, due timestamptz) RETURNS timestamptz LANGUAGE sql STABLE
    RETURN CASE WHEN k.misfire = 'SKIP' THEN
        due + CASE WHEN cardinality(k.schedule_parts) = 1 THEN least(k.schedule_parts[1], 60000000) ELSE 60000000 END * interval '1 us' END;
COMMENT ON FUNCTION rowrun.missed_at(rowrun.task, timestamptz) IS 'Internal: when a tick counts as missed.';
