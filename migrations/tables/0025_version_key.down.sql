-- A statement that writes a task has looked up the language of version_key, and reads its text when it computes the column: it would read
-- text in another language. Such statements end first.
LOCK TABLE rowrun.task IN SHARE ROW EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION rowrun.version_key(version text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (
        SELECT coalesce(string_agg(lpad(length(d.digits)::text, 2, '0') || d.digits, '' ORDER BY d.n), '')
        FROM (
            SELECT ltrim(p.part, '0') AS digits, p.n,
                   max(p.n) FILTER (WHERE ltrim(p.part, '0') <> '') OVER () AS last
            FROM unnest(string_to_array(version, '.')) WITH ORDINALITY AS p(part, n)
        ) d
        WHERE d.n <= d.last
    );
