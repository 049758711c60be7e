-- What holds a run of limits, if there are any: a key that has no room, which holds whoever has that key, '' where what the run needs is missing (a free slot for a
-- token, a replica), NULL where nothing does. full_keys: keys that have no room, by what was asked of other runs at t: these cost no judgement, which takes some ms.
CREATE OR REPLACE FUNCTION rowrun.limit_holding(run_id bigint, t timestamptz, full_keys text[] DEFAULT '{}') RETURNS text LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    known text;
BEGIN
    IF NOT may_be_limited() THEN
        RETURN NULL;
    END IF;
    IF full_keys <> '{}' THEN
        known := (SELECT k.limit_key FROM limited_of(ARRAY[run_id]) s CROSS JOIN LATERAL unnest(s.limit_keys) k(limit_key) WHERE k.limit_key = ANY (full_keys) LIMIT 1);
    END IF;
    RETURN coalesce(known, (SELECT CASE WHEN v.cause = 'LIMIT' AND NOT v.is_full THEN v.limit_key ELSE '' END
                            FROM limit_verdicts(ARRAY[run_id], t, false) v WHERE v.cause IS NOT NULL));
END $$;
COMMENT ON FUNCTION rowrun.limit_holding(bigint, timestamptz, text[]) IS 'Internal: the key of a limit that holds a run.';

-- Whether every gate of a run is open but for mutual exclusion and limits.
CREATE OR REPLACE FUNCTION rowrun.sequential_open(run_id bigint, t timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RETURN (SELECT g.cause IS NULL AND coalesce(room.open AND room.slots > 0, true)
            FROM rowrun.task_run r
            CROSS JOIN LATERAL rowrun.closed_gate(r, false, t) g
            LEFT JOIN LATERAL rowrun.plan_room(r.plan_id) room ON true
            WHERE r.id = sequential_open.run_id);
END $$;
COMMENT ON FUNCTION rowrun.sequential_open(bigint, timestamptz) IS 'Internal: whether mutual exclusion and limits alone may hold a run.';

-- Of a database the first sequential PENDING run that mutual exclusion alone holds. A function of its own, and not in
-- plain SQL, because its text would be part of the judgement otherwise, which has it started up for each pass: a third of
-- what a pass takes for one run. It is called where there is a sequential run at all. Gates are asked one run after the
-- other, in the order of the index, and the first that is open ends it: asked in one statement with its LIMIT, the
-- planner has thousands asked, and sorts them. A run that isn't judged yet and not due is none of them; nor is one that
-- something else held when it was judged last, but for what marks say has changed since (stale: causes, and LIMIT:key) or time has. Of those that
-- wait for one key of a limit one is asked where that has no room, before its other gates; of all others limits are asked last, as hundreds
-- may wait for a plan's slot, and of those with a key that has none, one. The arguments of a call share a collation, here that of versions: with it no index on database_id would do.
CREATE OR REPLACE FUNCTION rowrun.first_sequential(database_id text, smallest text, t timestamptz, stale text[] DEFAULT '{}')
    RETURNS TABLE (id bigint, priority integer, run_at timestamptz)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    c record;
    holding text;
    full_keys text[] := '{}'; -- keys of limits that have no room
    asked text[] := '{}'; -- keys along which runs wait, of which the first is held
BEGIN
    FOR c IN
        SELECT r.id, r.priority, r.run_at, CASE WHEN r.cause = 'LIMIT' THEN r.limit_wait END AS limit_key FROM rowrun.task_run r
        WHERE r.database_id = (first_sequential.database_id COLLATE "default") AND r.version_key IS NULL AND r.sequential AND r.status = 'PENDING'
          AND (r.cause IS NULL OR r.cause IN ('DATABASE', 'PLAN') OR r.cause = ANY (stale)
               OR r.cause = 'LIMIT' AND (r.judge_at <= t OR 'LIMIT:' || r.limit_wait = ANY (stale))) AND r.run_at <= t
        ORDER BY r.database_id, r.version_key, r.sequential, r.priority DESC, r.run_at, r.id
    LOOP
        CONTINUE WHEN c.limit_key = ANY (asked) OR c.limit_key IS NULL AND NOT rowrun.sequential_open(c.id, t);
        holding := rowrun.limit_holding(c.id, t, full_keys);
        IF holding IS NOT NULL THEN
            asked := asked || array_remove(ARRAY[c.limit_key], NULL);
            full_keys := full_keys || array_remove(ARRAY[holding], '');
        ELSIF c.limit_key IS NULL OR rowrun.sequential_open(c.id, t) THEN
            RETURN QUERY SELECT c.id, c.priority, c.run_at;
            EXIT;
        END IF;
    END LOOP;
    IF smallest IS NULL THEN
        RETURN;
    END IF;
    FOR c IN
        SELECT r.id, r.priority, r.run_at, CASE WHEN r.cause = 'LIMIT' THEN r.limit_wait END AS limit_key FROM rowrun.task_run r
        WHERE r.database_id = (first_sequential.database_id COLLATE "default") AND r.version_key = first_sequential.smallest AND r.sequential AND r.status = 'PENDING'
          AND (r.cause IS NULL OR r.cause IN ('DATABASE', 'PLAN') OR r.cause = ANY (stale)
               OR r.cause = 'LIMIT' AND (r.judge_at <= t OR 'LIMIT:' || r.limit_wait = ANY (stale))) AND r.run_at <= t
        ORDER BY r.database_id, r.version_key, r.sequential, r.priority DESC, r.run_at, r.id
    LOOP
        CONTINUE WHEN c.limit_key = ANY (asked) OR c.limit_key IS NULL AND NOT rowrun.sequential_open(c.id, t);
        holding := rowrun.limit_holding(c.id, t, full_keys);
        IF holding IS NOT NULL THEN
            asked := asked || array_remove(ARRAY[c.limit_key], NULL);
            full_keys := full_keys || array_remove(ARRAY[holding], '');
        ELSIF c.limit_key IS NULL OR rowrun.sequential_open(c.id, t) THEN
            RETURN QUERY SELECT c.id, c.priority, c.run_at;
            EXIT;
        END IF;
    END LOOP;
END $$;
COMMENT ON FUNCTION rowrun.first_sequential(text, text, timestamptz, text[]) IS 'Internal: the first sequential run of a database that mutual exclusion alone holds.';

-- The smallest unfinished version of a database. Inlined where it is called, like the lists of candidates below.
CREATE OR REPLACE FUNCTION rowrun.smallest_version(database_id text) RETURNS TABLE (version_key text) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT least(
        (SELECT r.version_key FROM rowrun.task_run r WHERE r.database_id = smallest_version.database_id AND r.status = 'PENDING'
           AND r.version_key IS NOT NULL ORDER BY r.version_key LIMIT 1),
        (SELECT r.version_key FROM rowrun.task_run r WHERE r.database_id = smallest_version.database_id AND r.status IN ('AVAILABLE', 'RUNNING')
           AND r.version_key IS NOT NULL ORDER BY r.version_key LIMIT 1));
END;
COMMENT ON FUNCTION rowrun.smallest_version(text) IS 'Internal: the smallest unfinished version of a database.';

-- The databases on which sequential runs of these plans wait, and may hold others back. It is the runs that tell: a task that
-- is DONE may run again. By the index of a plan's unfinished runs, whatever the statistics say. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.databases_of_plans(plan_ids bigint[]) RETURNS TABLE (database_id text) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT DISTINCT w.database_id FROM unnest(databases_of_plans.plan_ids) p(id)
    CROSS JOIN LATERAL (
        SELECT r.database_id FROM rowrun.task_run r
        WHERE r.plan_id = p.id AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND coalesce(r.status, '') = 'PENDING'
          AND r.sequential AND r.database_id IS NOT NULL OFFSET 0) w;
END;
COMMENT ON FUNCTION rowrun.databases_of_plans(bigint[]) IS 'Internal: databases on which sequential runs of these plans wait.';
