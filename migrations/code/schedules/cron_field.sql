-- A field of a cron expression as a set of bits.
CREATE OR REPLACE FUNCTION rowrun.cron_field(field text, what text, lowest integer, highest integer, names text[] DEFAULT '{}') RETURNS bigint
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
    FOREACH item IN ARRAY string_to_array(lower(field COLLATE "C"), ',') LOOP
        part := regexp_match(item, '^(?:[*]|([0-9]{1,2}|[a-z]{3})(?:(-)([0-9]{1,2}|[a-z]{3}))?)(?:/([0-9]{1,2}))?$');
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
COMMENT ON FUNCTION rowrun.cron_field(text, text, integer, integer, text[]) IS 'Internal: a cron field as a set of bits.';
