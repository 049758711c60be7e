-- The first tick after a moment. Cron fields name minutes of the zone's own clock, and PostgreSQL's zone data says when
-- that shows them: where minute and hour are fixed, one that it leaves out is run when the gap is over, and one that it shows
-- twice the first time. Where one of them has a * or a step, what it leaves out isn't run, and what it shows twice is both times. A clock is put forward or back
-- by at most a day.
CREATE OR REPLACE FUNCTION rowrun.tick_after(parts bigint[], zone text, after timestamptz, grid timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    day CONSTANT interval := '25 hours';
    fixed boolean;
    since timestamp;
    shown timestamp;
    guess timestamptz;
    here interval;
    early interval;
    late interval;
    changed timestamptz;
BEGIN
    IF cardinality(parts) = 0 OR after >= timestamptz '9998-01-01 00:00+00' OR after < timestamptz '1900-01-01 00:00+00' THEN
        RETURN NULL;
    ELSIF cardinality(parts) < 7 THEN
        IF cardinality(parts) = 2 OR grid IS NULL THEN
            RETURN after + parts[1] * interval '1 us';
        ELSIF after < grid THEN
            RETURN grid;
        END IF;
        RETURN grid + (floor(extract(epoch FROM after - grid) * 1000000 / parts[1]) + 1) * parts[1] * interval '1 us';
    END IF;
    fixed := parts[7] = 1;
    since := (after AT TIME ZONE zone) + interval '1 us';
    IF zone = 'UTC' THEN
        RETURN rowrun.cron_local(parts[1], parts[2], parts[3], parts[4], parts[5], parts[6] = 1, since) AT TIME ZONE 'UTC';
    END IF;
    here := (after AT TIME ZONE zone) - (after AT TIME ZONE 'UTC');
    IF fixed THEN
        early := ((after - day) AT TIME ZONE zone) - ((after - day) AT TIME ZONE 'UTC');
        IF early > here THEN -- perhaps the clock shows for the second time what it has shown before
            changed := rowrun.clock_change(zone, after - day, after);
            since := greatest(since, (changed AT TIME ZONE 'UTC') + early);
        END IF;
    END IF;
    shown := rowrun.cron_local(parts[1], parts[2], parts[3], parts[4], parts[5], parts[6] = 1, since);
    IF NOT fixed THEN
        late := ((after + day) AT TIME ZONE zone) - ((after + day) AT TIME ZONE 'UTC');
        IF late < here THEN -- the clock will be put back: what it has shown since then comes again
            changed := rowrun.clock_change(zone, after, after + day);
            IF coalesce(shown >= (changed AT TIME ZONE 'UTC') + here, true) THEN
                shown := rowrun.cron_local(parts[1], parts[2], parts[3], parts[4], parts[5], parts[6] = 1,
                                           (changed AT TIME ZONE 'UTC') + late);
            END IF;
        END IF;
    END IF;
    IF shown IS NULL THEN
        RETURN NULL;
    END IF;

    guess := shown AT TIME ZONE zone;
    early := ((guess - day) AT TIME ZONE zone) - ((guess - day) AT TIME ZONE 'UTC');
    late := ((guess + day) AT TIME ZONE zone) - ((guess + day) AT TIME ZONE 'UTC');
    IF early = late THEN
        RETURN guess;
    ELSIF (shown - early) AT TIME ZONE 'UTC' AT TIME ZONE zone = shown AND (shown - early) AT TIME ZONE 'UTC' > after THEN
        RETURN (shown - early) AT TIME ZONE 'UTC';
    ELSIF (shown - late) AT TIME ZONE 'UTC' AT TIME ZONE zone = shown THEN
        RETURN (shown - late) AT TIME ZONE 'UTC';
    ELSIF early < late THEN
        changed := rowrun.clock_change(zone, (shown - late) AT TIME ZONE 'UTC', (shown - early) AT TIME ZONE 'UTC');
        since := (changed AT TIME ZONE 'UTC') + late; -- what the clock shows when the gap is over
        IF fixed OR rowrun.cron_local(parts[1], parts[2], parts[3], parts[4], parts[5], parts[6] = 1, since) = since THEN
            RETURN changed;
        END IF;
        RETURN rowrun.tick_after(parts, zone, changed, grid);
    END IF;
    RETURN guess;
END $$;
COMMENT ON FUNCTION rowrun.tick_after(bigint[], text, timestamptz, timestamptz) IS 'Internal: next_tick of a schedule that was read.';

CREATE OR REPLACE FUNCTION rowrun.next_tick(schedule text, time_zone text, after timestamptz, grid timestamptz DEFAULT NULL)
    RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
    RETURN rowrun.tick_after(rowrun.parse_schedule(schedule), time_zone, after, grid);
COMMENT ON FUNCTION rowrun.next_tick(text, text, timestamptz, timestamptz) IS 'The first tick of a schedule after a moment, NULL: never. @every counts from grid, or from the moment.';
