-- What a task is told of its schedule is read, checked and refused here. A zone is one of the IANA's: PostgreSQL would
-- also take POSIX rules, which are the wrong way round (UTC+3 is behind UTC), and abbreviations.
CREATE OR REPLACE FUNCTION rowrun.task_schedule_fill() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    resumed boolean := TG_OP = 'UPDATE' AND OLD.paused AND NOT NEW.paused AND OLD.schedule_error IS NOT NULL;
    changed boolean := TG_OP = 'INSERT';
BEGIN
    NEW.time_zone := coalesce(NEW.time_zone, 'UTC');
    NEW.misfire := coalesce(NEW.misfire, 'SKIP');
    NEW.overlap := coalesce(NEW.overlap, 'SKIP');
    IF TG_OP = 'INSERT' THEN
        NEW.schedule_error := NULL;
    ELSE
        changed := (NEW.schedule, NEW.time_zone, NEW.starts_at, NEW.plan_id) IS DISTINCT FROM (OLD.schedule, OLD.time_zone, OLD.starts_at, OLD.plan_id);
    END IF;
    IF NOT (changed OR resumed) THEN
        IF NEW.spread IS DISTINCT FROM OLD.spread THEN
            PERFORM rowrun.check_spread(NEW);
        END IF;
        RETURN NEW;
    END IF;
    NEW.scheduled_at := clock_timestamp();
    NEW.schedule_error := NULL;
    NEW.schedule_parts := rowrun.parse_schedule(NEW.schedule);
    IF NEW.schedule IS NULL THEN
        IF TG_OP = 'INSERT' THEN
            NEW.scheduled_at := NULL;
        END IF;
        RETURN NEW;
    ELSIF NEW.plan_id IS NOT NULL THEN
        RAISE EXCEPTION 'schedule: a task of a plan has none' USING ERRCODE = 'RR003', HINT = 'Leave plan_id out; the scheduled task may insert a plan''s runs.';
    END IF;
    -- Without a digit it is no POSIX rule, and with a slash no abbreviation; the list of all zones is slow to read.
    IF NEW.time_zone <> 'UTC'
       AND NOT (CASE WHEN NEW.time_zone ~ '^[A-Za-z_]+(/[A-Za-z_]+)+$' THEN rowrun.known_zone(NEW.time_zone)
                     ELSE EXISTS (SELECT FROM pg_catalog.pg_timezone_names z WHERE lower(z.name COLLATE "C") = lower(NEW.time_zone COLLATE "C")) END)
    THEN
        RAISE EXCEPTION 'time_zone: "%" is not known to this server', NEW.time_zone
            USING ERRCODE = 'RR003', HINT = 'An IANA name such as Europe/London; SELECT name FROM pg_timezone_names lists them.';
    END IF;
    IF cardinality(NEW.schedule_parts) = 7
       AND rowrun.tick_after(NEW.schedule_parts, NEW.time_zone, NEW.scheduled_at, NULL) IS NULL
    THEN
        RAISE EXCEPTION 'schedule: the date of "%" never comes', NEW.schedule
            USING ERRCODE = 'RR003', HINT = 'Look at day of month and month: there is no 30 February.';
    END IF;
    PERFORM rowrun.check_spread(NEW);
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_schedule_fill() IS 'Trigger: reads a task''s schedule, refuses what can''t be followed.';

CREATE OR REPLACE FUNCTION rowrun.known_zone(zone text) RETURNS boolean LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    -- PostgreSQL refuses zones that count leap seconds (right/Europe/London) elsewhere: no minute begins where others' does.
    RETURN extract(second FROM timestamptz '2000-01-01 00:00+00' AT TIME ZONE zone) = 0;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN false;
END $$;
COMMENT ON FUNCTION rowrun.known_zone(text) IS 'Internal: whether the server has a time zone.';
CREATE OR REPLACE TRIGGER task_author_schedule BEFORE UPDATE OF schedule, time_zone, misfire, spread, starts_at, ends_at, overlap, state ON rowrun.task
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();
CREATE OR REPLACE TRIGGER task_schedule_fill BEFORE INSERT ON rowrun.task FOR EACH ROW
    WHEN (NEW.schedule IS NOT NULL OR num_nulls(NEW.time_zone, NEW.misfire, NEW.overlap) > 0
          OR num_nonnulls(NEW.schedule_error, NEW.scheduled_at, NEW.schedule_parts) > 0) -- what the database says is nobody's to say
    EXECUTE FUNCTION rowrun.task_schedule_fill();
CREATE OR REPLACE TRIGGER task_schedule_refill BEFORE UPDATE OF schedule, time_zone, misfire, overlap, spread, starts_at, paused, plan_id ON rowrun.task
    FOR EACH ROW WHEN (NEW.schedule IS NOT NULL OR OLD.schedule IS NOT NULL OR num_nulls(NEW.time_zone, NEW.misfire, NEW.overlap) > 0)
    EXECUTE FUNCTION rowrun.task_schedule_fill();
