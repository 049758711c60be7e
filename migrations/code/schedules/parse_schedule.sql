-- What a schedule says, read once: the five fields of a cron expression as sets of bits, whether either of the days is
-- enough, and whether its times are fixed; the microseconds of @every; those of @after and a 0; nothing for "-".
CREATE OR REPLACE FUNCTION rowrun.parse_schedule(schedule text) RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    word text := lower(btrim(schedule, E' \t\n\r') COLLATE "C");
    field text[];
    step bigint;
    weekdays bigint;
BEGIN
    IF word = '-' THEN
        RETURN '{}';
    END IF;
    IF word ~ '^@(every|after)[[:space:]]' THEN
        step := extract(epoch FROM rowrun.go_duration(btrim(substr(word, 7)))) * 1000000;
        RETURN CASE WHEN word ~ '^@every' THEN ARRAY[step] ELSE ARRAY[step, 0] END;
    END IF;
    word := CASE word WHEN '@hourly' THEN '0 * * * *' WHEN '@daily' THEN '0 0 * * *' WHEN '@midnight' THEN '0 0 * * *'
                      WHEN '@weekly' THEN '0 0 * * 0' WHEN '@monthly' THEN '0 0 1 * *'
                      WHEN '@yearly' THEN '0 0 1 1 *' WHEN '@annually' THEN '0 0 1 1 *' ELSE word END;
    field := regexp_split_to_array(word, '[[:space:]]+');
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
COMMENT ON FUNCTION rowrun.parse_schedule(text) IS 'Internal: what a schedule says, as numbers.';
