-- version_key without a query of its own. Each UPDATE of a task computes the stored column anew (a table with BEFORE UPDATE triggers of rows),
-- such as the outcome that each end of a plan's run writes; a function in SQL is planned in each such statement.

-- A statement that writes a task has looked up the language of version_key, and reads its text when it computes the column: it would read
-- text in another language. Such statements end first.
LOCK TABLE rowrun.task IN SHARE ROW EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION rowrun.version_key(version text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    part text;
    digits text;
    zeros text := ''; -- numbers 0 that another number has yet to follow: 1.0 = 1
    key text := '';
BEGIN
    FOREACH part IN ARRAY string_to_array(version, '.') LOOP
        digits := ltrim(part, '0');
        IF digits = '' THEN
            zeros := zeros || '00';
        ELSE
            key := key || zeros || lpad(length(digits)::text, 2, '0') || digits;
            zeros := '';
        END IF;
    END LOOP;
    RETURN key;
END $$;
