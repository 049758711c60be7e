-- What runs of a database wait for there: any run that is AVAILABLE or RUNNING, the sequential one among these, and the
-- smallest version that is AVAILABLE or RUNNING, and that is PENDING.
CREATE OR REPLACE FUNCTION rowrun.database_stands(database_id text)
    RETURNS TABLE (any_id bigint, any_status text, alone_id bigint, alone_status text,
                   active_id bigint, active_status text, active_version text, active_key text,
                   pending_id bigint, pending_version text, pending_key text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT a.id, a.status, s.id, s.status, v.id, v.status, v.version, v.version_key, p.id, p.version, p.version_key
    FROM (SELECT 1) one
    LEFT JOIN LATERAL (
        SELECT u.id, u.status FROM rowrun.task_run u
        WHERE u.database_id = database_stands.database_id AND u.status IN ('AVAILABLE', 'RUNNING')
        ORDER BY u.database_id, u.version_key LIMIT 1) a ON true
    LEFT JOIN LATERAL (
        SELECT u.id, u.status FROM rowrun.task_run u
        WHERE u.database_id = database_stands.database_id AND u.sequential AND u.status IN ('AVAILABLE', 'RUNNING') LIMIT 1) s ON true
    LEFT JOIN LATERAL (
        SELECT u.id, u.status, u.version, u.version_key FROM rowrun.task_run u
        WHERE u.database_id = database_stands.database_id AND u.status IN ('AVAILABLE', 'RUNNING') AND u.version_key IS NOT NULL
        ORDER BY u.database_id, u.version_key LIMIT 1) v ON true
    LEFT JOIN LATERAL (
        SELECT u.id, u.version, u.version_key FROM rowrun.task_run u
        WHERE u.database_id = database_stands.database_id AND u.status = 'PENDING' AND u.version_key IS NOT NULL
        ORDER BY u.database_id, u.version_key, u.sequential, u.priority DESC, u.run_at, u.id LIMIT 1) p ON true;
END;
COMMENT ON FUNCTION rowrun.database_stands(text) IS 'Internal: the runs that others of a database may wait for.';

-- The first 101 PENDING runs of a database, by version, that have another version than the one given. rank: how many
-- versions there are up to this run's.
CREATE OR REPLACE FUNCTION rowrun.other_versions(database_id text, but text)
    RETURNS TABLE (run_ids bigint[], keys text[], ranks bigint[], first_ids jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT array_agg(o.id), array_agg(o.version_key), array_agg(o.rank), coalesce(to_jsonb((array_agg(o.id))[1:100]), '[]')
    FROM (SELECT q.id, q.version_key, dense_rank() OVER (ORDER BY q.version_key) AS rank
          FROM ((SELECT u.id, u.version_key FROM rowrun.task_run u
                 WHERE u.database_id = other_versions.database_id AND u.version_key < but COLLATE "C" AND u.status = 'PENDING'
                 ORDER BY u.database_id, u.version_key, u.sequential, u.priority DESC, u.run_at, u.id LIMIT 101)
                UNION ALL
                (SELECT u.id, u.version_key FROM rowrun.task_run u
                 WHERE u.database_id = other_versions.database_id AND u.version_key > but COLLATE "C" AND u.status = 'PENDING'
                 ORDER BY u.database_id, u.version_key, u.sequential, u.priority DESC, u.run_at, u.id LIMIT 101)
                LIMIT 101) q
          ORDER BY q.version_key) o;
END;
COMMENT ON FUNCTION rowrun.other_versions(text, text) IS 'Internal: what waits on a database with a version, but for one of them.';

-- Of the AVAILABLE runs that keep a database and that no live replica takes: any, the sequential one, that of the smallest version.
CREATE OR REPLACE FUNCTION rowrun.stuck_on_database(database_id text, t timestamptz)
    RETURNS TABLE (any_id bigint, sequential_id bigint, version_id bigint, version_key text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT min(u.id), min(u.id) FILTER (WHERE u.sequential),
           (array_agg(u.id ORDER BY u.version_key, u.id) FILTER (WHERE u.version_key IS NOT NULL))[1], min(u.version_key)
    FROM (SELECT a.* FROM rowrun.task_run a
          WHERE a.database_id = stuck_on_database.database_id AND a.status IN ('AVAILABLE', 'RUNNING')
          ORDER BY a.database_id, a.version_key LIMIT 200) u
    WHERE u.status = 'AVAILABLE' AND NOT EXISTS (SELECT FROM rowrun.able_replicas(u, t));
END;
COMMENT ON FUNCTION rowrun.stuck_on_database(text, timestamptz) IS 'Internal: AVAILABLE runs that keep a database and that no live replica takes.';

-- Of a database the sequential PENDING run that mutual exclusion alone holds, as the promotion asks for it: what comes later
-- in the order waits behind that run.
CREATE OR REPLACE FUNCTION rowrun.sequential_ahead(database_id text, smallest text, t timestamptz)
    RETURNS TABLE (id bigint, priority integer, run_at timestamptz)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT f.id, f.priority, f.run_at
    FROM (SELECT 1 WHERE EXISTS (SELECT FROM rowrun.task_run u WHERE u.database_id = sequential_ahead.database_id AND u.status = 'PENDING'
                                 AND u.version_key IS NULL AND u.sequential)
                      OR EXISTS (SELECT FROM rowrun.task_run u WHERE u.database_id = sequential_ahead.database_id AND u.status = 'PENDING'
                                 AND u.version_key = smallest COLLATE "C" AND u.sequential)) one
    CROSS JOIN LATERAL rowrun.first_sequential(sequential_ahead.database_id, smallest, t) f
    ORDER BY f.priority DESC, f.run_at, f.id LIMIT 1;
END;
COMMENT ON FUNCTION rowrun.sequential_ahead(text, text, timestamptz) IS 'Internal: the sequential run that later ones of a database wait behind.';

-- The causes that a run's moment and its database are.
CREATE OR REPLACE FUNCTION rowrun.waits_for_database(ids bigint[], t timestamptz) RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    r record;
    base record; -- of the database of the run before
    stuck record;
    first record;
    others record; -- the versions that wait there, but for the one that others wait for
    ahead text; -- the key of that one
    base_of text;
    first_of text;
    others_of text;
    earlier integer; -- how many runs of others come before this one; 101: or more
    by_run bigint;
BEGIN
    FOR r IN SELECT * FROM rowrun.waiting_runs(ids) w WHERE w.pending AND (w.database_id IS NOT NULL OR w.run_at > t) LOOP
        run_id := r.id;
        IF r.run_at > t THEN
            cause := 'RUN_AT';
            message := 'due in ' || rowrun.ago(r.run_at - t);
            detail := jsonb_build_object('run_at', r.run_at);
            RETURN NEXT;
        END IF;
        CONTINUE WHEN r.database_id IS NULL;
        IF base_of IS DISTINCT FROM r.database_id THEN
            SELECT * INTO base FROM rowrun.database_stands(r.database_id);
            SELECT s.* INTO stuck FROM rowrun.stuck_on_database(CASE WHEN base.any_id IS NOT NULL THEN r.database_id END, t) s;
            base_of := r.database_id;
            first_of := NULL;
            others_of := NULL;
        END IF;

        ahead := CASE WHEN base.active_key < r.version_key COLLATE "C" THEN base.active_key
                      WHEN base.pending_key < r.version_key COLLATE "C" THEN base.pending_key END;
        IF ahead IS NOT NULL THEN
            IF others_of IS DISTINCT FROM ahead THEN
                SELECT o.*, v.*, jsonb_build_object('database_id', r.database_id, 'run_id', v.id, 'version', v.version,
                                                    'waiting_run_ids', o.first_ids) AS detail
                INTO others
                FROM rowrun.other_versions(r.database_id, ahead) o
                CROSS JOIN (SELECT base.active_id AS id, base.active_version AS version, base.active_status AS status WHERE base.active_key = ahead
                            UNION ALL SELECT base.pending_id, base.pending_version, 'PENDING' LIMIT 1) v;
                others_of := ahead;
            END IF;
            earlier := coalesce(array_position(others.keys, r.version_key) - 1, width_bucket(r.version_key COLLATE "C", others.keys), 0);
            cause := 'VERSION';
            message := 'version ' || others.version || ' is ' || others.status || ' on ' || r.database_id || ' (run ' || others.id || ')'
                || CASE WHEN earlier > 0
                        THEN CASE WHEN earlier > 100 THEN '; at least ' ELSE '; ' END || others.ranks[earlier]
                             || CASE others.status WHEN 'PENDING' THEN ' more' ELSE '' END
                             || CASE others.ranks[earlier] WHEN 1 THEN ' earlier version waits' ELSE ' earlier versions wait' END
                        ELSE '' END;
            detail := CASE WHEN earlier >= jsonb_array_length(others.first_ids) THEN others.detail
                           ELSE others.detail || jsonb_build_object('waiting_run_ids', to_jsonb(others.run_ids[1:earlier])) END;
            RETURN NEXT;
        END IF;

        by_run := CASE WHEN r.sequential THEN base.any_id ELSE base.alone_id END;
        IF by_run IS NULL AND NOT r.sequential THEN
            IF first_of IS NULL THEN
                SELECT * INTO first FROM rowrun.sequential_ahead(r.database_id, least(base.active_key COLLATE "C", base.pending_key), t);
                first_of := r.database_id;
            END IF;
            by_run := CASE WHEN (-first.priority::bigint, first.run_at, first.id) < (-r.priority::bigint, r.run_at, r.id) THEN first.id END;
        END IF;
        IF by_run IS NOT NULL THEN
            cause := 'DATABASE_BUSY';
            message := r.database_id || ' is busy: run ' || by_run || ' is '
                || CASE by_run WHEN base.any_id THEN base.any_status WHEN base.alone_id THEN base.alone_status ELSE 'PENDING' END;
            detail := jsonb_build_object('database_id', r.database_id, 'run_id', by_run);
            RETURN NEXT;
        END IF;

        by_run := CASE WHEN r.sequential THEN stuck.any_id WHEN stuck.sequential_id IS NOT NULL THEN stuck.sequential_id
                       WHEN stuck.version_key < r.version_key COLLATE "C" THEN stuck.version_id END;
        IF by_run IS NOT NULL THEN
            cause := 'NO_REPLICA';
            message := 'run ' || by_run || ' keeps ' || r.database_id || ', and no live replica can take it';
            detail := jsonb_build_object('run_id', by_run);
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION rowrun.waits_for_database(bigint[], timestamptz) IS 'Internal: the causes that a run''s moment and its database are.';
