-- Why a run is not running. The same gates as in promote_runs, told to people: all causes that hold, not the first.
CREATE OR REPLACE FUNCTION rowrun.ago(d interval) RETURNS text LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN d >= interval '1 day' THEN extract(day FROM justify_hours(d))::int || ' d ' || extract(hour FROM justify_hours(d))::int || ' h'
                WHEN d >= interval '1 hour' THEN floor(extract(epoch FROM d) / 3600)::int || ' h ' || extract(minute FROM d)::int || ' min'
                WHEN d >= interval '1 minute' THEN floor(extract(epoch FROM d) / 60)::int || ' min ' || floor(extract(second FROM d))::int || ' s'
                ELSE round(extract(epoch FROM d), 1) || ' s' END;
END;
COMMENT ON FUNCTION rowrun.ago(interval) IS 'Internal: a duration for people.';
