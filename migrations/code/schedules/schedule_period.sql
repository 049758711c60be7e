-- The shortest time between two ticks, of cron fields among the first fifty from a moment on, by a clock that nobody puts forward
-- or back.
CREATE OR REPLACE FUNCTION rowrun.schedule_period(parts bigint[]) RETURNS interval LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    at timestamptz := timestamptz '2023-12-31 23:59:59+00';
    coming timestamptz;
    shortest interval;
BEGIN
    IF cardinality(parts) < 7 THEN
        RETURN parts[1] * interval '1 us';
    END IF;
    at := rowrun.tick_after(parts, 'UTC', at, NULL);
    FOR n IN 1..50 LOOP
        coming := rowrun.tick_after(parts, 'UTC', at, NULL);
        EXIT WHEN coming IS NULL;
        shortest := least(shortest, coming - at);
        at := coming;
    END LOOP;
    RETURN shortest;
END $$;
COMMENT ON FUNCTION rowrun.schedule_period(bigint[]) IS 'Internal: the shortest time between two ticks of a schedule.';

-- A run is never put off beyond the next tick, nor beyond what a run may say.
CREATE OR REPLACE FUNCTION rowrun.check_spread(k rowrun.task) RETURNS void LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    period interval;
BEGIN
    IF k.spread > interval '0' AND cardinality(k.schedule_parts) > 0 THEN
        period := rowrun.schedule_period(k.schedule_parts);
        IF extract(epoch FROM k.spread) > extract(epoch FROM period) THEN
            RAISE EXCEPTION 'spread: % is longer than the % between two ticks of "%"', k.spread, period, k.schedule
                USING ERRCODE = 'RR003', HINT = 'A run waits at most until the next tick: a shorter spread, or a rarer schedule.';
        ELSIF k.starts_at + k.spread >= timestamptz '9999-01-01 00:00+00' THEN
            RAISE EXCEPTION 'spread: starts_at and % lie beyond the year 9998', k.spread
                USING ERRCODE = 'RR003', HINT = 'A shorter spread, or an earlier start.';
        END IF;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.check_spread(rowrun.task) IS 'Internal: refuses a spread that is longer than the time between two ticks, or beyond all runs.';
