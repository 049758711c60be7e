-- Recurring tasks. A schedule's next run is an ordinary PENDING row that says in tick which moment of the schedule it
-- stands for. It is made in the transaction that ends the run before it or changes the task, and two unique indexes
-- make it one: per task and tick, and per task one that is unfinished.

ALTER TABLE rowrun.task
    ADD COLUMN schedule       text CHECK (octet_length(schedule) <= 1000),
    ADD COLUMN time_zone      text NOT NULL DEFAULT 'UTC' CHECK (octet_length(time_zone) <= 100),
    ADD COLUMN misfire        text NOT NULL DEFAULT 'SKIP' CHECK (misfire IN ('SKIP', 'ONCE', 'ALL')),
    ADD COLUMN starts_at      timestamptz CHECK (starts_at >= '1900-01-01 00:00+00' AND starts_at < '9999-01-01 00:00+00'),
    ADD COLUMN ends_at        timestamptz CHECK (ends_at >= '1900-01-01 00:00+00' AND ends_at < '9999-01-01 00:00+00'),
    ADD COLUMN overlap        text NOT NULL DEFAULT 'SKIP' CHECK (overlap IN ('SKIP', 'QUEUE')),
    ADD COLUMN state          jsonb CHECK (pg_column_size(state) < 2000 OR (octet_length(state::text) <= 1048576 AND NOT rowrun.too_deep(state))),
    ADD COLUMN schedule_error text,
    ADD COLUMN scheduled_at   timestamptz,
    ADD COLUMN schedule_parts bigint[],
    ADD CONSTRAINT task_schedule_without_plan CHECK (schedule IS NULL OR plan_id IS NULL);
COMMENT ON COLUMN rowrun.task.schedule IS 'When it recurs: five cron fields, @hourly to @yearly, @every 10m, @after 10m, - for disabled; NULL: it doesn''t. Only tasks without a plan.';
COMMENT ON COLUMN rowrun.task.time_zone IS 'IANA name of the zone that cron fields are read in.';
COMMENT ON COLUMN rowrun.task.misfire IS 'What becomes of ticks that nobody could start in time: SKIP: nothing; ONCE: one run for all; ALL: each is run.';
COMMENT ON COLUMN rowrun.task.starts_at IS 'No tick before this moment; the grid of @every begins here.';
COMMENT ON COLUMN rowrun.task.ends_at IS 'No tick after this moment.';
COMMENT ON COLUMN rowrun.task.overlap IS 'What becomes of ticks that pass while a run is under way: SKIP: nothing; QUEUE: they are run after it, one by one.';
COMMENT ON COLUMN rowrun.task.state IS 'Handed to each run as the key state under its payload; replaced by the state of a DONE run''s result.';
COMMENT ON COLUMN rowrun.task.schedule_error IS 'Why the schedule was paused by itself: it could not be followed any more. Resuming the task clears it.';
COMMENT ON COLUMN rowrun.task.scheduled_at IS 'Internal: when its schedule last changed.';
COMMENT ON COLUMN rowrun.task.schedule_parts IS 'Internal: the schedule as numbers, so that the end of a run needn''t read its text.';

CREATE UNIQUE INDEX task_run_tick ON rowrun.task_run (task_id, tick) WHERE tick IS NOT NULL AND attempt = 0 AND status <> 'CANCELED';
CREATE UNIQUE INDEX task_run_tick_unfinished ON rowrun.task_run (task_id)
    WHERE tick IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING');
CREATE INDEX task_scheduled ON rowrun.task (id) WHERE schedule IS NOT NULL;
CREATE INDEX task_schedule_error ON rowrun.task (id) WHERE schedule_error IS NOT NULL;

-- A field of a cron expression as a set of bits.
CREATE FUNCTION rowrun.cron_field(field text, what text, lowest integer, highest integer, names text[] DEFAULT '{}') RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    bits bigint := 0;
    item text;
    part text[];
    first integer;
    last integer;
    step integer;
BEGIN
    IF field = '*' THEN
        RETURN (1::bigint << highest + 1) - (1::bigint << lowest);
    END IF;
    FOREACH item IN ARRAY string_to_array(lower(field), ',') LOOP
        part := regexp_match(item, '^(?:\*|([0-9]{1,2}|[a-z]{3})(?:(-)([0-9]{1,2}|[a-z]{3}))?)(?:/([0-9]{1,2}))?$');
        IF part IS NOT NULL THEN
            step := coalesce(part[4]::integer, 1);
            first := lowest;
            last := highest;
            IF part[1] IS NOT NULL THEN
                first := CASE WHEN part[1] ~ '^[0-9]' THEN part[1]::integer ELSE array_position(names, part[1]) + lowest - 1 END;
                last := CASE WHEN part[2] IS NULL THEN CASE WHEN part[4] IS NULL THEN first ELSE highest END
                             WHEN part[3] ~ '^[0-9]' THEN part[3]::integer ELSE array_position(names, part[3]) + lowest - 1 END;
                IF what = 'day of week' AND last = 0 AND first > 0 THEN
                    last := 7; -- FRI-SUN
                END IF;
            END IF;
        END IF;
        IF part IS NULL OR step = 0 OR (first >= lowest AND last <= highest AND first <= last) IS NOT TRUE THEN
            RAISE EXCEPTION 'schedule: "%" is no % (% to %)', item, what, lowest, highest
                USING ERRCODE = 'RR003', HINT = 'A field is *, a number, a name such as MON or JAN, a range 1-5, each with a step such as */15, or a list of these; L, W, # and ? are not accepted.';
        END IF;
        FOR n IN first..last BY step LOOP
            bits := bits | (1::bigint << n);
        END LOOP;
    END LOOP;
    RETURN bits;
END $$;

-- A duration as Go writes it: 10m, 1h30m, 1.5s.
CREATE FUNCTION rowrun.go_duration(duration text) RETURNS interval LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    seconds numeric;
BEGIN
    IF duration ~ '^([0-9]{1,12}(\.[0-9]{0,9})?(h|m|s|ms|us|\u00b5s|\u00c2\u00b5s|ns))+$' THEN
        SELECT sum(m[1]::numeric * CASE m[2] WHEN 'h' THEN 3600 WHEN 'm' THEN 60 WHEN 's' THEN 1 WHEN 'ms' THEN 0.001
                                             WHEN 'ns' THEN 0.000000001 ELSE 0.000001 END)
        INTO seconds
        FROM regexp_matches(duration, '([0-9]+\.?[0-9]*)(h|ms|m|s|us|\u00b5s|\u00c2\u00b5s|ns)', 'g') m;
    END IF;
    IF (seconds BETWEEN 0.01 AND 315360000) IS NOT TRUE THEN
        RAISE EXCEPTION 'schedule: "%" is no duration between 10ms and 87600h', duration
            USING ERRCODE = 'RR003', HINT = 'Write it as 30s, 10m, 1h30m or 24h.';
    END IF;
    RETURN make_interval(secs => seconds::double precision);
END $$;

-- The first minute at or after a local time that the fields let through, date by date; NULL where none comes within
-- 41 years: even a 29 February on one weekday comes again after 40.
CREATE FUNCTION rowrun.cron_local(minutes bigint, hours bigint, days bigint, months bigint, weekdays bigint, either boolean, since timestamp)
    RETURNS timestamp LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    start timestamp := date_trunc('minute', since + interval '59.999999 s');
    year integer := extract(year FROM start);
    month integer := extract(month FROM start);
    day integer := extract(day FROM start);
    hour integer := extract(hour FROM start);
    minute integer := extract(minute FROM start);
    length integer;
    weekday integer;
BEGIN
    FOR n IN 0..492 LOOP
        EXIT WHEN year > 9998;
        IF months >> month & 1 = 1 THEN
            length := extract(day FROM make_date(year, month, 1) + interval '1 month -1 day');
            weekday := extract(dow FROM make_date(year, month, day));
            WHILE day <= length LOOP
                IF (CASE WHEN either THEN (days >> day) | (weekdays >> weekday) ELSE (days >> day) & (weekdays >> weekday) END) & 1 = 1
                THEN
                    WHILE hour < 24 LOOP
                        IF hours >> hour & 1 = 1 AND minutes >> minute > 0 THEN
                            WHILE minutes >> minute & 1 = 0 LOOP
                                minute := minute + 1;
                            END LOOP;
                            RETURN make_timestamp(year, month, day, hour, minute, 0);
                        END IF;
                        hour := hour + 1;
                        minute := 0;
                    END LOOP;
                END IF;
                day := day + 1;
                weekday := (weekday + 1) % 7;
                hour := 0;
                minute := 0;
            END LOOP;
        END IF;
        day := 1;
        hour := 0;
        minute := 0;
        month := month % 12 + 1;
        year := year + CASE month WHEN 1 THEN 1 ELSE 0 END;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION rowrun.utc_offset(zone text, at timestamptz) RETURNS interval LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (at AT TIME ZONE zone) - (at AT TIME ZONE 'UTC');

-- When a zone's clock was put to the offset that it has at until, if it had another one at since: to the second.
CREATE FUNCTION rowrun.clock_change(zone text, since timestamptz, until timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    before bigint := floor(extract(epoch FROM since));
    reached bigint := ceil(extract(epoch FROM until));
    middle bigint;
    new_offset interval := rowrun.utc_offset(zone, until);
BEGIN
    WHILE reached - before > 1 LOOP
        middle := (before + reached) / 2;
        IF rowrun.utc_offset(zone, to_timestamp(middle)) = new_offset THEN
            reached := middle;
        ELSE
            before := middle;
        END IF;
    END LOOP;
    RETURN to_timestamp(reached);
END $$;

-- What a schedule says, read once: the five fields of a cron expression as sets of bits, whether either of the days is
-- enough, and whether its times are fixed; the microseconds of @every; those of @after and a 0; nothing for "-".
CREATE FUNCTION rowrun.parse_schedule(schedule text) RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    word text := lower(btrim(schedule, E' \t\n\r'));
    field text[];
    step bigint;
    weekdays bigint;
BEGIN
    IF word = '-' THEN
        RETURN '{}';
    END IF;
    IF word ~ '^@(every|after)\s' THEN
        step := extract(epoch FROM rowrun.go_duration(btrim(substr(word, 7)))) * 1000000;
        RETURN CASE WHEN word ~ '^@every' THEN ARRAY[step] ELSE ARRAY[step, 0] END;
    END IF;
    word := CASE word WHEN '@hourly' THEN '0 * * * *' WHEN '@daily' THEN '0 0 * * *' WHEN '@midnight' THEN '0 0 * * *'
                      WHEN '@weekly' THEN '0 0 * * 0' WHEN '@monthly' THEN '0 0 1 * *'
                      WHEN '@yearly' THEN '0 0 1 1 *' WHEN '@annually' THEN '0 0 1 1 *' ELSE word END;
    field := regexp_split_to_array(word, '\s+');
    IF cardinality(field) <> 5 THEN
        RAISE EXCEPTION 'schedule: "%" is not understood', left(schedule, 100)
            USING ERRCODE = 'RR003', HINT = 'Five fields (minute, hour, day of month, month, day of week), @hourly, @daily, @weekly, @monthly, @yearly, @every 10m, @after 10m, or - for disabled.';
    END IF;
    weekdays := rowrun.cron_field(field[5], 'day of week', 0, 7, '{sun,mon,tue,wed,thu,fri,sat}');
    RETURN ARRAY[rowrun.cron_field(field[1], 'minute', 0, 59),
                 rowrun.cron_field(field[2], 'hour', 0, 23),
                 rowrun.cron_field(field[3], 'day of month', 1, 31),
                 rowrun.cron_field(field[4], 'month', 1, 12, '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}'),
                 (weekdays | (weekdays >> 7)) & 127,
                 (left(field[3], 1) <> '*' AND left(field[5], 1) <> '*')::int,
                 (field[1] || field[2] !~ '[*/]')::int];
END $$;

-- The first tick after a moment. Cron fields name minutes of the zone's own clock, and PostgreSQL's zone data says when
-- that shows them: one that it leaves out is run when the gap is over; one that it shows twice is run the first time
-- where minute and hour are fixed, and both times where one of them has a * or a step. A clock is put forward or back
-- by at most a day.
CREATE FUNCTION rowrun.tick_after(parts bigint[], zone text, after timestamptz, grid timestamptz) RETURNS timestamptz
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
        RETURN rowrun.clock_change(zone, (shown - late) AT TIME ZONE 'UTC', (shown - early) AT TIME ZONE 'UTC');
    END IF;
    RETURN guess;
END $$;

CREATE FUNCTION rowrun.next_tick(schedule text, time_zone text, after timestamptz, grid timestamptz DEFAULT NULL)
    RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
    RETURN rowrun.tick_after(rowrun.parse_schedule(schedule), time_zone, after, grid);

COMMENT ON FUNCTION rowrun.cron_field(text, text, integer, integer, text[]) IS 'Internal: a cron field as a set of bits.';
COMMENT ON FUNCTION rowrun.go_duration(text) IS 'Internal: a duration such as 1h30m.';
COMMENT ON FUNCTION rowrun.cron_local(bigint, bigint, bigint, bigint, bigint, boolean, timestamp) IS 'Internal: the first local minute that cron fields let through.';
COMMENT ON FUNCTION rowrun.utc_offset(text, timestamptz) IS 'Internal: how far a zone''s clock is ahead of UTC.';
COMMENT ON FUNCTION rowrun.clock_change(text, timestamptz, timestamptz) IS 'Internal: when a zone''s clock was put forward or back.';
COMMENT ON FUNCTION rowrun.parse_schedule(text) IS 'Internal: what a schedule says, as numbers.';
COMMENT ON FUNCTION rowrun.tick_after(bigint[], text, timestamptz, timestamptz) IS 'Internal: next_tick of a schedule that was read.';
COMMENT ON FUNCTION rowrun.next_tick(text, text, timestamptz, timestamptz) IS 'The first tick of a schedule after a moment, NULL: never. @every counts from grid, or from the moment.';

-- What a task is told of its schedule is read, checked and refused here. A zone is one of the IANA's: PostgreSQL would
-- also take POSIX rules, which are the wrong way round (UTC+3 is behind UTC), and abbreviations.
CREATE FUNCTION rowrun.task_schedule_fill() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
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
        changed := (NEW.schedule, NEW.time_zone, NEW.starts_at) IS DISTINCT FROM (OLD.schedule, OLD.time_zone, OLD.starts_at);
    END IF;
    IF NOT (changed OR resumed) THEN
        RETURN NEW;
    END IF;
    NEW.scheduled_at := clock_timestamp();
    NEW.schedule_error := NULL;
    NEW.schedule_parts := rowrun.parse_schedule(NEW.schedule);
    IF NEW.schedule IS NULL THEN
        RETURN NEW;
    ELSIF NEW.plan_id IS NOT NULL THEN
        RAISE EXCEPTION 'schedule: a task of a plan has none' USING ERRCODE = 'RR003', HINT = 'Leave plan_id out; the scheduled task may insert a plan''s runs.';
    END IF;
    -- Without a digit it is no POSIX rule, and with a slash no abbreviation; the list of all zones is slow to read.
    IF NEW.time_zone <> 'UTC'
       AND NOT (CASE WHEN NEW.time_zone ~ '^[A-Za-z_]+(/[A-Za-z_]+)+$' THEN rowrun.known_zone(NEW.time_zone)
                     ELSE EXISTS (SELECT FROM pg_catalog.pg_timezone_names z WHERE lower(z.name) = lower(NEW.time_zone)) END)
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
    RETURN NEW;
END $$;

CREATE FUNCTION rowrun.known_zone(zone text) RETURNS boolean LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RETURN now() AT TIME ZONE zone IS NOT NULL;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN false;
END $$;

-- The tick that follows a run of a task, at the moment that. A tick that is not in the future was missed before the run
-- could start (misfire says what becomes of it) or passed while the run was under way (overlap does); those that had
-- passed when the run became due are the rest of a queue. run is NULL where there was none.
CREATE FUNCTION rowrun.tick_that_follows(k rowrun.task, run rowrun.task_run, that timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    -- One tick of @every, @after and cron in one way: what begins later has its first tick then.
    grid CONSTANT timestamptz := coalesce(k.starts_at, k.created_at);
    floor CONSTANT timestamptz := greatest(k.scheduled_at, k.starts_at - interval '1 us');
    begun CONSTANT timestamptz := coalesce(run.started_at, that);
    coming timestamptz;
BEGIN
    IF k.schedule IS NULL OR cardinality(k.schedule_parts) = 0 OR k.skipped OR k.schedule_error IS NOT NULL OR k.plan_id IS NOT NULL THEN
        RETURN NULL;
    ELSIF cardinality(k.schedule_parts) = 2 THEN
        coming := CASE WHEN k.starts_at > that THEN k.starts_at ELSE rowrun.tick_after(k.schedule_parts, k.time_zone, that, NULL) END;
    ELSE
        coming := rowrun.tick_after(k.schedule_parts, k.time_zone, greatest(coalesce(run.tick, that), floor), grid);
        IF coming <= that AND NOT (coming <= run.run_at AND (k.misfire = 'ALL' OR k.overlap = 'QUEUE')) THEN
            IF coming <= begun AND k.misfire <> 'ALL' THEN
                coming := rowrun.tick_after(k.schedule_parts, k.time_zone, greatest(begun, floor), grid);
            END IF;
            IF coming <= that AND NOT (coming <= begun OR k.overlap = 'QUEUE') THEN
                coming := rowrun.tick_after(k.schedule_parts, k.time_zone, that, grid);
            END IF;
        END IF;
    END IF;
    -- One that was brought forward by hand has been run.
    WHILE coming > that AND EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = k.id AND r.tick = coming
                                  AND r.tick IS NOT NULL AND r.attempt = 0 AND r.status <> 'CANCELED' AND r.status <> 'PENDING') LOOP
        coming := rowrun.tick_after(k.schedule_parts, k.time_zone, coming, grid);
    END LOOP;
    RETURN CASE WHEN coming <= coalesce(k.ends_at, 'infinity') AND coming < timestamptz '9999-01-01 00:00+00' THEN coming END;
END $$;

-- When a run that is due at a moment counts as missed: a minute late, or as late as the next tick of @every.
CREATE FUNCTION rowrun.missed_at(k rowrun.task, due timestamptz) RETURNS timestamptz LANGUAGE sql STABLE
    RETURN CASE WHEN k.misfire = 'SKIP' THEN
        due + CASE WHEN cardinality(k.schedule_parts) = 1 THEN least(k.schedule_parts[1], 60000000) ELSE 60000000 END * interval '1 us' END;

-- A schedule that can't be followed any more pauses its task, and nothing else suffers: the end of a run least of all.
-- The table of notes comes with the next migration.
CREATE FUNCTION rowrun.pause_schedule(task_id bigint, reason text) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    UPDATE rowrun.task k SET paused = true, schedule_error = left(pause_schedule.reason, 1000) WHERE k.id = pause_schedule.task_id;
    INSERT INTO rowrun.stream_note (level, event, message, detail)
    SELECT 'warn', 'task.schedule_paused', 'schedule paused: it can''t be followed any more',
           jsonb_build_object('task_id', k.id, 'task', k.name, 'schedule', k.schedule, 'time_zone', k.time_zone, 'detail', k.schedule_error)
    FROM rowrun.task k WHERE k.id = pause_schedule.task_id;
END $$;

-- The next runs after these have ended for good, of tasks that recur; the tasks are locked, so that whoever changes a
-- schedule meanwhile either finds the new run or is seen here.
CREATE FUNCTION rowrun.schedule_after(run_ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off -- the table may have grown since statistics were made, by this very statement
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
DECLARE
    t timestamptz := clock_timestamp();
    pair record;
    coming timestamptz;
    due timestamptz;
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
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected OR serialization_failure OR insufficient_privilege THEN
                RAISE;
            WHEN OTHERS THEN
                coming := NULL;
                PERFORM rowrun.pause_schedule((pair.k).id, SQLERRM || ' (SQLSTATE ' || SQLSTATE || ')');
        END;
        IF coming IS NOT NULL THEN
            due := greatest(coming, t);
            tasks := tasks || (pair.k).id;
            ticks := ticks || coming;
            dues := dues || due;
            missed := missed || rowrun.missed_at(pair.k, due);
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

-- What the end of runs means for tasks that recur: kept are DONE runs whose result has a state, over are runs with a
-- tick that get no successor.
CREATE FUNCTION rowrun.schedule_ended(kept bigint[], over bigint[]) RETURNS void LANGUAGE plpgsql
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

-- Cancels a PENDING run whose tick is not to be run, and says so; what follows it, the caller sees to. An edge that is
-- written out needs no trigger, which would make the run that follows.
CREATE FUNCTION rowrun.cancel_tick(run_id bigint, reason text) RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz := clock_timestamp();
    run rowrun.task_run;
BEGIN
    UPDATE rowrun.task_run r
    SET status = 'CANCELED', prev_status = 'PENDING', by_hand = NULL, finished_at = t, updated_at = greatest(t, r.updated_at + interval '1 us'),
        hold = NULL, judge_at = NULL, cancel_reason = reason,
        result = jsonb_build_object('code', 'CANCELED', 'detail', 'Task run canceled: ' || reason)
    WHERE r.id = cancel_tick.run_id AND coalesce(r.status, '') = 'PENDING'
    RETURNING r.* INTO run;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM announce(ARRAY[transition(run)]);
    IF run.database_id IS NOT NULL THEN
        INSERT INTO rowrun.gate_mark (kind, database_id) VALUES ('DATABASE', run.database_id);
    END IF;
    RETURN true;
END $$;

-- Brings the waiting run of a task in line with its schedule: makes it, moves it, or cancels it. A run that is
-- AVAILABLE or RUNNING, or a retry, is left alone: its end makes the next. anew: the run carries what has changed of the task, and
-- is replaced.
CREATE FUNCTION rowrun.schedule_task(task_id bigint, moved boolean, anew boolean) RETURNS boolean LANGUAGE plpgsql
    SET enable_seqscan = off
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := clock_timestamp();
    k rowrun.task;
    run rowrun.task_run;
    nothing rowrun.task_run;
    wanted timestamptz;
    due timestamptz;
BEGIN
    SELECT x.* INTO k FROM rowrun.task x WHERE x.id = schedule_task.task_id FOR NO KEY UPDATE;
    SELECT r.* INTO run FROM rowrun.task_run r
    WHERE r.task_id = k.id AND r.tick IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING');
    IF run.status <> 'PENDING' THEN
        RETURN false;
    END IF;
    IF run.id IS NOT NULL AND (NOT moved OR run.attempt > 0) AND run.tick <= coalesce(k.ends_at, 'infinity') AND NOT k.skipped THEN
        wanted := run.tick;
        due := run.run_at;
    ELSE
        wanted := rowrun.tick_that_follows(k, nothing, t);
        due := wanted;
    END IF;
    PERFORM set_config('rowrun.scheduling', 'on', true);
    IF run.id IS NOT NULL AND (wanted IS NULL OR anew AND run.attempt = 0) THEN
        IF NOT rowrun.cancel_tick(run.id, CASE WHEN wanted IS NULL THEN 'its schedule ended' ELSE 'its task was changed' END) THEN
            wanted := NULL;
        END IF;
        run := nothing;
    END IF;
    IF run.attempt = 0 THEN
        UPDATE rowrun.task_run r SET tick = wanted, run_at = due, missed_at = rowrun.missed_at(k, due)
        WHERE r.id = run.id AND coalesce(r.status, '') = 'PENDING';
    ELSIF run.id IS NULL AND wanted IS NOT NULL THEN
        INSERT INTO rowrun.task_run (id, task_id, tick, run_at, missed_at) VALUES (rowrun.next_run_id(), k.id, wanted, due, rowrun.missed_at(k, due))
        ON CONFLICT DO NOTHING;
    END IF;
    PERFORM set_config('rowrun.scheduling', 'off', true);
    RETURN wanted IS NOT NULL;
END $$;

CREATE FUNCTION rowrun.task_scheduled() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp
    SET enable_seqscan = off
AS $$
DECLARE
    nothing rowrun.task_run;
    coming timestamptz;
BEGIN
    IF TG_OP = 'INSERT' THEN
        coming := tick_that_follows(NEW, nothing, clock_timestamp());
        IF coming IS NOT NULL THEN
            PERFORM set_config('rowrun.scheduling', 'on', true);
            INSERT INTO task_run (id, task_id, tick, run_at, missed_at) VALUES (next_run_id(), NEW.id, coming, coming, missed_at(NEW, coming));
            PERFORM set_config('rowrun.scheduling', 'off', true);
        END IF;
    ELSE
        PERFORM schedule_task(NEW.id,
            NEW.scheduled_at IS DISTINCT FROM OLD.scheduled_at,
            (NEW.type, NEW.queue, NEW.database_id, NEW.version, NEW.sequential, NEW.priority)
                IS DISTINCT FROM (OLD.type, OLD.queue, OLD.database_id, OLD.version, OLD.sequential, OLD.priority));
    END IF;
    RETURN NULL;
END $$;

-- Moves runs whose tick was missed, and is to be skipped, to the next tick. The caller holds them.
CREATE FUNCTION rowrun.skip_missed(run_ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
DECLARE
    t timestamptz := clock_timestamp();
    k rowrun.task;
    run rowrun.task_run;
    nothing rowrun.task_run;
    coming timestamptz;
    problem text;
BEGIN
    PERFORM set_config('rowrun.scheduling', 'on', true);
    FOR run IN SELECT r.* FROM rowrun.task_run r WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING' ORDER BY r.id LOOP
        SELECT x.* INTO k FROM rowrun.task x WHERE x.id = run.task_id;
        problem := NULL;
        coming := NULL;
        BEGIN
            coming := rowrun.tick_that_follows(k, nothing, t);
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected OR serialization_failure OR insufficient_privilege THEN
                RAISE;
            WHEN OTHERS THEN
                problem := SQLERRM || ' (SQLSTATE ' || SQLSTATE || ')';
        END;
        IF coming IS NOT NULL THEN
            UPDATE rowrun.task_run r SET tick = coming, run_at = coming, missed_at = rowrun.missed_at(k, coming) WHERE r.id = run.id;
        ELSE
            PERFORM rowrun.cancel_tick(run.id, 'its tick was missed, and no other comes');
        END IF;
        IF problem IS NOT NULL THEN
            PERFORM rowrun.pause_schedule(k.id, problem);
        END IF;
    END LOOP;
    PERFORM set_config('rowrun.scheduling', 'off', true);
END $$;

-- The safety net: up to so many tasks after one, in the order of ids, get the run that they should have (rows were
-- deleted or restored). Returns the last task looked at, NULL behind the last, and how many runs were made.
CREATE FUNCTION rowrun.schedule_sweep(after_id bigint, most integer, OUT last_id bigint, OUT made integer) LANGUAGE plpgsql
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
            WHEN OTHERS THEN
                PERFORM rowrun.pause_schedule(due.id, SQLERRM || ' (SQLSTATE ' || SQLSTATE || ')');
        END;
    END LOOP;
    SELECT max(x.id) INTO last_id FROM (SELECT k.id FROM rowrun.task k WHERE k.schedule IS NOT NULL AND k.id > after_id ORDER BY k.id LIMIT most) x
    HAVING count(*) = most;
END $$;

CREATE TRIGGER task_author_schedule BEFORE UPDATE OF schedule, time_zone, misfire, starts_at, ends_at, overlap, state ON rowrun.task
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();
CREATE TRIGGER task_schedule_fill BEFORE INSERT ON rowrun.task FOR EACH ROW
    WHEN (NEW.schedule IS NOT NULL OR num_nulls(NEW.time_zone, NEW.misfire, NEW.overlap) > 0)
    EXECUTE FUNCTION rowrun.task_schedule_fill();
CREATE TRIGGER task_schedule_refill BEFORE UPDATE OF schedule, time_zone, misfire, overlap, starts_at, paused, plan_id ON rowrun.task
    FOR EACH ROW WHEN (NEW.schedule IS NOT NULL OR OLD.schedule IS NOT NULL OR num_nulls(NEW.time_zone, NEW.misfire, NEW.overlap) > 0)
    EXECUTE FUNCTION rowrun.task_schedule_fill();
CREATE TRIGGER task_scheduled AFTER INSERT ON rowrun.task FOR EACH ROW
    WHEN (NEW.schedule IS NOT NULL) EXECUTE FUNCTION rowrun.task_scheduled();
CREATE TRIGGER task_rescheduled AFTER UPDATE ON rowrun.task FOR EACH ROW
    WHEN ((NEW.schedule IS NOT NULL OR OLD.schedule IS NOT NULL)
          AND (NEW.scheduled_at IS DISTINCT FROM OLD.scheduled_at OR NEW.misfire IS DISTINCT FROM OLD.misfire OR NEW.ends_at IS DISTINCT FROM OLD.ends_at
               OR NEW.skipped IS DISTINCT FROM OLD.skipped OR NEW.type IS DISTINCT FROM OLD.type OR NEW.queue IS DISTINCT FROM OLD.queue
               OR NEW.database_id IS DISTINCT FROM OLD.database_id OR NEW.version IS DISTINCT FROM OLD.version OR NEW.sequential IS DISTINCT FROM OLD.sequential
               OR NEW.priority IS DISTINCT FROM OLD.priority))
    EXECUTE FUNCTION rowrun.task_scheduled();

COMMENT ON FUNCTION rowrun.task_schedule_fill() IS 'Trigger: reads a task''s schedule, refuses what can''t be followed.';
COMMENT ON FUNCTION rowrun.known_zone(text) IS 'Internal: whether the server has a time zone.';
COMMENT ON FUNCTION rowrun.tick_that_follows(rowrun.task, rowrun.task_run, timestamptz) IS 'Internal: the tick that follows a run.';
COMMENT ON FUNCTION rowrun.missed_at(rowrun.task, timestamptz) IS 'Internal: when a tick counts as missed.';
COMMENT ON FUNCTION rowrun.pause_schedule(bigint, text) IS 'Internal: pauses a task whose schedule can''t be followed.';
COMMENT ON FUNCTION rowrun.schedule_after(bigint[]) IS 'Internal: the next runs after these.';
COMMENT ON FUNCTION rowrun.schedule_ended(bigint[], bigint[]) IS 'Internal: state and next run of tasks whose runs have ended.';
COMMENT ON FUNCTION rowrun.cancel_tick(bigint, text) IS 'Internal: cancels a waiting run for its schedule.';
COMMENT ON FUNCTION rowrun.schedule_task(bigint, boolean, boolean) IS 'Internal: makes, moves or cancels the waiting run of a schedule.';
COMMENT ON FUNCTION rowrun.task_scheduled() IS 'Trigger: the waiting run follows its task''s schedule.';
COMMENT ON FUNCTION rowrun.skip_missed(bigint[]) IS 'Internal: moves runs whose tick was missed to the next one.';
COMMENT ON FUNCTION rowrun.schedule_sweep(bigint, integer) IS 'Internal: runs for schedules that have none.';

REVOKE ALL ON FUNCTION rowrun.pause_schedule(bigint, text), rowrun.schedule_after(bigint[]), rowrun.schedule_ended(bigint[], bigint[]),
    rowrun.cancel_tick(bigint, text), rowrun.schedule_task(bigint, boolean, boolean), rowrun.task_scheduled(), rowrun.skip_missed(bigint[]), rowrun.schedule_sweep(bigint, integer)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.pause_schedule(bigint, text), rowrun.schedule_after(bigint[]), rowrun.schedule_ended(bigint[], bigint[]),
    rowrun.cancel_tick(bigint, text), rowrun.schedule_task(bigint, boolean, boolean), rowrun.skip_missed(bigint[]), rowrun.schedule_sweep(bigint, integer) TO rowrun_replica;

INSERT INTO rowrun.migration (version) VALUES (12);
