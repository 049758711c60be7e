-- Failures of one cause differ in ids, names and times. What is left of their first line when these are gone is the same.
CREATE OR REPLACE FUNCTION rowrun.normal_error(detail text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN regexp_replace(regexp_replace(regexp_replace(left(split_part(coalesce(detail, ''), E'\n', 1), 400),
               '"[^"]*"|''[^'']*''', '...', 'g'),
               '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|0x[0-9a-fA-F]+', '...', 'g'),
               '[0-9]+([.:,][0-9]+)*', '...', 'g');
COMMENT ON FUNCTION rowrun.normal_error(text) IS 'Internal: a failure''s text without what differs between failures of one cause.';
