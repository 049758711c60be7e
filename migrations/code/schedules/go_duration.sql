-- A duration as Go writes it: 10m, 1h30m, 1.5s.
CREATE OR REPLACE FUNCTION rowrun.go_duration(duration text) RETURNS interval LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    seconds numeric;
BEGIN
    IF duration ~ E'^([0-9]{1,12}([.][0-9]{0,9})?(h|m|s|ms|us|\\u00b5s|\\u00c2\\u00b5s|ns))+$' THEN
        SELECT sum(m[1]::numeric * CASE m[2] WHEN 'h' THEN 3600 WHEN 'm' THEN 60 WHEN 's' THEN 1 WHEN 'ms' THEN 0.001
                                             WHEN 'ns' THEN 0.000000001 ELSE 0.000001 END)
        INTO seconds
        FROM regexp_matches(duration, E'([0-9]+[.]?[0-9]*)(h|ms|m|s|us|\\u00b5s|\\u00c2\\u00b5s|ns)', 'g') m;
    END IF;
    IF (seconds BETWEEN 0.01 AND 315360000) IS NOT TRUE THEN
        RAISE EXCEPTION 'schedule: "%" is no duration between 10ms and 87600h', duration
            USING ERRCODE = 'RR003', HINT = 'Write it as 30s, 10m, 1h30m or 24h.';
    END IF;
    RETURN make_interval(secs => seconds::double precision);
END $$;
COMMENT ON FUNCTION rowrun.go_duration(text) IS 'Internal: a duration such as 1h30m.';
