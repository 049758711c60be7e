-- A sequential run that a limit holds holds nobody back on its database. So runs that wait behind one have to be judged again when a
-- limit of its has no more room: which databases that may be about is written down when they are judged.

-- Of these runs, which have just been judged, those that wait behind a sequential run that a limit applies to.
CREATE OR REPLACE FUNCTION rowrun.note_limit_databases(run_ids bigint[], causes text[], t timestamptz) RETURNS void LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    stale text[] := (ARRAY(SELECT DISTINCT 'LIMIT:' || m.limit_key FROM gate_mark m WHERE m.kind = 'LIMIT' ORDER BY 1))[1:100]; -- as the judgement
BEGIN
    INSERT INTO limit_database (limit_key, database_id)
    SELECT DISTINCT k.limit_key, d.database_id
    FROM (SELECT r.database_id, array_agg(r.id) AS ids FROM unnest(run_ids, causes) v(id, cause) JOIN task_run r ON r.id = v.id
          WHERE v.cause = 'DATABASE' GROUP BY 1) d
    CROSS JOIN LATERAL smallest_version(d.database_id) m
    CROSS JOIN LATERAL first_sequential(d.database_id, m.version_key, note_limit_databases.t, stale) f
    CROSS JOIN LATERAL limited_of(ARRAY[f.id]) s
    CROSS JOIN LATERAL unnest(s.limit_keys) k(limit_key)
    WHERE d.ids <> ARRAY[f.id]
    ON CONFLICT DO NOTHING;
END $$;
COMMENT ON FUNCTION rowrun.note_limit_databases(bigint[], text[], timestamptz) IS 'Internal: writes down on which databases runs wait behind a run that a limit applies to.';

-- Databases on which runs may wait behind a sequential run with one of these keys, where these have no room at t; whether there are
-- any. A key without a value stands for all of its limit. Where a sequential run is active its end leaves a mark.
CREATE OR REPLACE FUNCTION rowrun.mark_limit_databases(limit_keys text[], t timestamptz) RETURNS boolean LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    any_marked boolean;
BEGIN
    IF (SELECT true FROM limit_database b LIMIT 1) IS NULL THEN
        RETURN false;
    END IF;
    WITH full_keys AS MATERIALIZED (
        SELECT k.limit_key
        FROM (SELECT u.limit_key FROM unnest(mark_limit_databases.limit_keys) u(limit_key)
              UNION
              SELECT b.limit_key FROM unnest(mark_limit_databases.limit_keys) u(limit_key) JOIN limit_database b ON starts_with(b.limit_key, u.limit_key)
              WHERE right(u.limit_key, 1) = ':') k
        CROSS JOIN LATERAL limit_room(k.limit_key, mark_limit_databases.t) m
        WHERE m.places <= 0 OR m.rated AND m.tokens < 0.999999 OR m.held_until > mark_limit_databases.t
    ), taken AS (
        DELETE FROM limit_database b USING full_keys f
        WHERE b.limit_key = f.limit_key
          AND NOT EXISTS (SELECT FROM task_run a WHERE a.database_id = b.database_id AND a.sequential AND a.status IN ('AVAILABLE', 'RUNNING'))
        RETURNING b.database_id
    )
    INSERT INTO gate_mark (kind, database_id) SELECT DISTINCT 'DATABASE', x.database_id FROM taken x;
    any_marked := FOUND;
    IF any_marked THEN
        PERFORM notify_look();
    END IF;
    RETURN any_marked;
END $$;
COMMENT ON FUNCTION rowrun.mark_limit_databases(text[], timestamptz) IS 'Internal: marks of runs that may wait behind a run which a limit holds now.';
