-- The first minute at or after a local time that the fields let through, date by date; NULL where none comes within
-- 41 years: even a 29 February on one weekday comes again after 40.
CREATE OR REPLACE FUNCTION rowrun.cron_local(minutes bigint, hours bigint, days bigint, months bigint, weekdays bigint, either boolean, since timestamp)
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
COMMENT ON FUNCTION rowrun.cron_local(bigint, bigint, bigint, bigint, bigint, boolean, timestamp) IS 'Internal: the first local minute that cron fields let through.';
