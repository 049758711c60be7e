CREATE OR REPLACE FUNCTION rowrun.utc_offset(zone text, at timestamptz) RETURNS interval LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (at AT TIME ZONE zone) - (at AT TIME ZONE 'UTC');
COMMENT ON FUNCTION rowrun.utc_offset(text, timestamptz) IS 'Internal: how far a zone''s clock is ahead of UTC.';

-- When a zone's clock was put to the offset that it has at until, if it had another one at since: to the second.
CREATE OR REPLACE FUNCTION rowrun.clock_change(zone text, since timestamptz, until timestamptz) RETURNS timestamptz
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
COMMENT ON FUNCTION rowrun.clock_change(text, timestamptz, timestamptz) IS 'Internal: when a zone''s clock was put forward or back.';
