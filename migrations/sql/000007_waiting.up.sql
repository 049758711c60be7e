-- Why a run is not running. The same gates as in promote_runs, told to people: all causes that hold, not the first.

CREATE FUNCTION rowrun.ago(d interval) RETURNS text LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN d >= interval '1 day' THEN extract(day FROM justify_hours(d))::int || ' d ' || extract(hour FROM justify_hours(d))::int || ' h'
                WHEN d >= interval '1 hour' THEN floor(extract(epoch FROM d) / 3600)::int || ' h ' || extract(minute FROM d)::int || ' min'
                WHEN d >= interval '1 minute' THEN floor(extract(epoch FROM d) / 60)::int || ' min ' || floor(extract(second FROM d))::int || ' s'
                ELSE round(extract(epoch FROM d), 1) || ' s' END;
END;
COMMENT ON FUNCTION rowrun.ago(interval) IS 'Internal: a duration for people.';

-- What is asked about a database, a plan or a kind of run stands in functions that are put in place of their call, and is
-- asked once for the runs that share it. None walks a row of runs as far as it goes: a look is over after 200 at most.

-- Those of these runs that wait.
CREATE FUNCTION rowrun.waiting_runs(ids bigint[])
    RETURNS TABLE (id bigint, task_id bigint, pending boolean, run_at timestamptz, priority integer, plan_id bigint, type text, queue text,
                   database_id text, version_key text, sequential boolean, task_paused boolean, command jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT r.id, r.task_id, r.status = 'PENDING', r.run_at, r.priority, r.plan_id, r.type, r.queue,
           r.database_id, r.version_key, r.sequential, k.paused, k.command
    FROM generate_subscripts(ids, 1) n
    CROSS JOIN LATERAL (SELECT * FROM rowrun.task_run x WHERE x.id = ids[n] AND coalesce(x.status, '') IN ('PENDING', 'AVAILABLE') OFFSET 0) r
    CROSS JOIN LATERAL (SELECT x.paused, CASE r.type WHEN 'COMMAND' THEN x.payload -> 'command' END AS command
                        FROM rowrun.task x WHERE x.id = r.task_id OFFSET 0) k;
END;
COMMENT ON FUNCTION rowrun.waiting_runs(bigint[]) IS 'Internal: of these runs those that are PENDING or AVAILABLE.';

-- Live replicas that could run a run of this kind.
CREATE FUNCTION rowrun.able_replicas(r rowrun.task_run, t timestamptz) RETURNS TABLE (replica_id text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT h.replica_id
    FROM rowrun.replica_heartbeat h CROSS JOIN (SELECT k.payload FROM rowrun.task k WHERE k.id = r.task_id) k
    WHERE rowrun.takes(h, t, r.queue, r.type, r.database_id, k.payload);
END;
COMMENT ON FUNCTION rowrun.able_replicas(rowrun.task_run, timestamptz) IS 'Internal: live replicas that could run a run.';

-- What runs of a database wait for there: any run that is AVAILABLE or RUNNING, the sequential one among these, and the
-- smallest version that is AVAILABLE or RUNNING, and that is PENDING.
CREATE FUNCTION rowrun.database_stands(database_id text)
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
CREATE FUNCTION rowrun.other_versions(database_id text, but text)
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
CREATE FUNCTION rowrun.stuck_on_database(database_id text, t timestamptz)
    RETURNS TABLE (any_id bigint, sequential_id bigint, version_id bigint, version_key text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT min(u.id), min(u.id) FILTER (WHERE u.sequential),
           (array_agg(u.id ORDER BY u.version_key, u.id) FILTER (WHERE u.version_key IS NOT NULL))[1], min(u.version_key)
    FROM (SELECT x.* FROM rowrun.task_run x
          WHERE x.database_id = stuck_on_database.database_id AND x.status IN ('AVAILABLE', 'RUNNING')
          ORDER BY x.database_id, x.version_key LIMIT 200) u
    WHERE u.status = 'AVAILABLE' AND NOT EXISTS (SELECT FROM rowrun.able_replicas(u, t));
END;
COMMENT ON FUNCTION rowrun.stuck_on_database(text, timestamptz) IS 'Internal: AVAILABLE runs that keep a database and that no live replica takes.';

-- Of a database the sequential PENDING run that mutual exclusion alone holds, as the promotion asks for it: what comes later
-- in the order waits behind that run.
CREATE FUNCTION rowrun.sequential_ahead(database_id text, smallest text, t timestamptz)
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
CREATE FUNCTION rowrun.waits_for_database(ids bigint[], t timestamptz) RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
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

-- What a plan holds its runs back by. run_ids: the first 100 that take its slots, where none is left; stuck_id: an AVAILABLE
-- run that keeps a slot and that no live replica takes. The status is that of a list for the reason that plan_room has.
CREATE FUNCTION rowrun.plan_stands(plan_id bigint, t timestamptz)
    RETURNS TABLE (open boolean, paused boolean, on_failure text, limited boolean, parallel_limit integer, slots bigint, run_ids jsonb, stuck_id bigint)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT room.open, p.paused, p.on_failure, p.parallel_limit IS NOT NULL, p.parallel_limit, room.slots, taken.ids, stuck.id
    FROM (SELECT q.id, q.paused, q.parallel_limit, q.on_failure FROM rowrun.plan q WHERE q.id = plan_stands.plan_id OFFSET 0) p
    CROSS JOIN LATERAL rowrun.plan_room(p.id) room
    LEFT JOIN LATERAL (
        SELECT coalesce(jsonb_agg(x.id ORDER BY x.id), '[]') AS ids
        FROM (SELECT a.id FROM unnest('{AVAILABLE,RUNNING}'::text[]) w(status)
              CROSS JOIN LATERAL (SELECT u.id FROM rowrun.task_run u
                                  WHERE u.plan_id = p.id AND u.status = w.status AND u.status IN ('AVAILABLE', 'RUNNING') LIMIT 100) a
              ORDER BY a.id LIMIT 100) x
        WHERE room.slots <= 0) taken ON true
    LEFT JOIN LATERAL (
        SELECT u.id
        FROM (SELECT x.* FROM unnest('{AVAILABLE}'::text[]) w(status)
              CROSS JOIN LATERAL (SELECT u.* FROM rowrun.task_run u
                                  WHERE u.plan_id = p.id AND u.status = w.status AND u.status IN ('AVAILABLE', 'RUNNING') OFFSET 0) x
              LIMIT 200) u
        WHERE p.parallel_limit IS NOT NULL AND NOT EXISTS (SELECT FROM rowrun.able_replicas(u, t))
        LIMIT 1) stuck ON true;
END;
COMMENT ON FUNCTION rowrun.plan_stands(bigint, timestamptz) IS 'Internal: what a plan holds its runs back by.';

-- The task that holds others of its plan back because it failed for good, or was canceled: on a database the one of the
-- smallest version, which holds back those above it; NULL: any that stops the plan.
CREATE FUNCTION rowrun.failed_task(plan_id bigint, database_id text)
    RETURNS TABLE (id bigint, name text, outcome text, version_key text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    (SELECT f.id, f.name, f.outcome, f.version_key
     FROM (SELECT k.id, k.name, k.outcome, k.version_key FROM rowrun.task k
           WHERE k.plan_id = failed_task.plan_id AND k.database_id = failed_task.database_id AND k.version_key IS NOT NULL
             AND k.outcome IN ('FAILED', 'CANCELED') AND NOT k.skipped
           ORDER BY k.plan_id, k.database_id, k.version_key LIMIT 200) f
     WHERE NOT EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = f.id AND u.plan_id IS NOT NULL
                       AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
     ORDER BY f.version_key LIMIT 1)
    UNION ALL
    (SELECT k.id, k.name, k.outcome, k.version_key FROM rowrun.task k
     WHERE failed_task.database_id IS NULL AND k.plan_id = failed_task.plan_id
       AND k.outcome IN ('FAILED', 'CANCELED') AND k.outcome = 'FAILED' AND NOT k.skipped
       AND NOT EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = k.id AND u.plan_id IS NOT NULL
                       AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
     ORDER BY k.plan_id, k.database_id, k.version_key LIMIT 1);
END;
COMMENT ON FUNCTION rowrun.failed_task(bigint, text) IS 'Internal: the task that holds others of its plan back by its failure.';

-- What a task waits for. total: 101 where these are more than a hundred.
CREATE FUNCTION rowrun.tasks_ahead(task_id bigint)
    RETURNS TABLE (total bigint, first_id bigint, ids jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT count(*), min(d.depends_on_id), to_jsonb((array_agg(d.depends_on_id ORDER BY d.depends_on_id))[1:100])
    FROM (SELECT u.depends_on_id FROM rowrun.unmet_dependency u WHERE u.task_id = tasks_ahead.task_id
          ORDER BY u.task_id, u.depends_on_id LIMIT 101) d;
END;
COMMENT ON FUNCTION rowrun.tasks_ahead(bigint) IS 'Internal: the tasks that a task waits for, the first hundred.';

-- The causes that a run's plan is, and the task's dependencies in it.
CREATE FUNCTION rowrun.waits_for_plan(ids bigint[], t timestamptz) RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    r record;
    plan record; -- of the run before
    plan_of bigint;
    failed record; -- the task that holds others of the plan back on the database of the run before
    failed_of text;
    tasks record;
    first record; -- of these tasks
    first_of bigint;
BEGIN
    FOR r IN SELECT * FROM rowrun.waiting_runs(ids) w WHERE w.plan_id IS NOT NULL LOOP
        run_id := r.id;
        IF plan_of IS DISTINCT FROM r.plan_id THEN
            SELECT * INTO plan FROM rowrun.plan_stands(r.plan_id, t);
            plan_of := r.plan_id;
            failed_of := NULL;
        END IF;
        IF plan.paused AND NOT r.task_paused THEN
            cause := 'PAUSED';
            message := 'plan ' || r.plan_id || ' is paused';
            detail := jsonb_build_object('plan_id', r.plan_id);
            RETURN NEXT;
        END IF;
        CONTINUE WHEN NOT r.pending;
        IF plan.slots <= 0 THEN
            cause := 'PLAN_LIMIT';
            message := 'plan ' || r.plan_id || ': ' || plan.parallel_limit - plan.slots || ' of ' || plan.parallel_limit || ' slots taken';
            detail := jsonb_build_object('plan_id', r.plan_id, 'parallel_limit', plan.parallel_limit, 'run_ids', plan.run_ids);
            RETURN NEXT;
        END IF;
        SELECT * INTO tasks FROM rowrun.tasks_ahead(r.task_id);
        IF tasks.total > 0 THEN
            IF first_of IS DISTINCT FROM tasks.first_id THEN
                SELECT s.name, s.status INTO first FROM rowrun.task_status s WHERE s.task_id = tasks.first_id;
                first_of := tasks.first_id;
            END IF;
            cause := 'DEPENDENCY';
            message := 'waits for ' || CASE WHEN tasks.total > 100 THEN 'more than 100 tasks, first of them task '
                                            WHEN tasks.total > 1 THEN tasks.total || ' tasks, first of them task ' ELSE 'task ' END
                || first_of || CASE WHEN first.name <> '' THEN ' (' || first.name || ')' ELSE '' END || ', which is ' || first.status;
            detail := jsonb_build_object('task_ids', tasks.ids);
            RETURN NEXT;
        END IF;
        CONTINUE WHEN plan.on_failure = 'CONTINUE' OR plan.on_failure = 'STOP' AND plan.open;
        IF failed_of IS DISTINCT FROM coalesce(r.database_id, '') THEN
            SELECT * INTO failed FROM rowrun.failed_task(r.plan_id, CASE plan.on_failure WHEN 'STOP_DATABASE' THEN coalesce(r.database_id, '') END);
            failed_of := coalesce(r.database_id, '');
        END IF;
        IF failed.id IS NOT NULL AND (plan.on_failure = 'STOP' OR failed.version_key < r.version_key COLLATE "C") THEN
            cause := 'PLAN_FAILED';
            message := 'task ' || failed.id || CASE WHEN failed.name <> '' THEN ' (' || failed.name || ')' ELSE '' END || ' of plan ' || r.plan_id
                || CASE failed.outcome WHEN 'FAILED' THEN ' failed' ELSE ' was canceled' END || ': retry or skip it';
            detail := jsonb_build_object('plan_id', r.plan_id, 'task_id', failed.id);
            RETURN NEXT;
        END IF;
        IF plan.stuck_id IS NOT NULL THEN
            cause := 'NO_REPLICA';
            message := 'run ' || plan.stuck_id || ' keeps a slot of plan ' || r.plan_id || ', and no live replica can take it';
            detail := jsonb_build_object('run_id', plan.stuck_id);
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION rowrun.waits_for_plan(bigint[], timestamptz) IS 'Internal: the causes that a run''s plan is, and what its task depends on.';

-- Live replicas that could run a run of this kind, at most a hundred ids of them, and the most free slots that one has.
CREATE FUNCTION rowrun.kind_stands(queue text, type text, database_id text, payload jsonb, t timestamptz, available boolean)
    RETURNS TABLE (replicas bigint, free bigint, ids jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT count(*),
           max(CASE WHEN available
                    THEN h.concurrency - (SELECT count(*) FROM rowrun.task_run a WHERE a.replica_id = h.replica_id AND a.status = 'RUNNING') END),
           to_jsonb((array_agg(h.replica_id ORDER BY h.replica_id))[1:100])
    FROM rowrun.replica_heartbeat h
    WHERE rowrun.takes(h, t, queue, type, kind_stands.database_id, payload);
END;
COMMENT ON FUNCTION rowrun.kind_stands(text, text, text, jsonb, timestamptz, boolean) IS 'Internal: live replicas that could run runs of a kind, and their free slots.';

-- The causes that a run's task and the replicas are.
CREATE FUNCTION rowrun.waits_for_replica(ids bigint[], t timestamptz) RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    r record;
    kind record; -- of the run before
    kind_of text[];
BEGIN
    FOR r IN
        SELECT w.*, w.database_id IS NOT NULL
                    OR w.plan_id IS NOT NULL AND (SELECT p.parallel_limit IS NOT NULL FROM rowrun.plan p WHERE p.id = w.plan_id) AS gated
        FROM rowrun.waiting_runs(ids) w
    LOOP
        run_id := r.id;
        IF r.task_paused THEN
            cause := 'PAUSED';
            message := 'task ' || r.task_id || ' is paused';
            detail := jsonb_build_object('task_id', r.task_id);
            RETURN NEXT;
        END IF;
        CONTINUE WHEN r.pending AND NOT r.gated;
        IF kind_of IS DISTINCT FROM ARRAY[r.pending::text, r.queue, r.type, r.database_id, r.command::text] THEN
            SELECT * INTO kind FROM rowrun.kind_stands(
                r.queue, r.type, r.database_id, CASE WHEN r.type = 'COMMAND' THEN jsonb_build_object('command', r.command) END, t, NOT r.pending);
            kind_of := ARRAY[r.pending::text, r.queue, r.type, r.database_id, r.command::text];
        END IF;
        IF kind.replicas = 0 THEN
            cause := 'NO_REPLICA';
            message := 'no live replica runs type ' || r.type || CASE r.queue WHEN 'default' THEN '' ELSE ' in queue ' || r.queue END
                || CASE WHEN r.type IN ('SQL', 'DATABASE_MIGRATE') THEN ' on ' || coalesce(r.database_id, '?')
                        WHEN r.type = 'COMMAND' THEN ' ' || coalesce(r.command #>> '{}', '?') ELSE '' END;
            detail := jsonb_build_object('type', r.type, 'queue', r.queue, 'database_id', r.database_id);
            RETURN NEXT;
        ELSIF NOT r.pending AND kind.free <= 0 THEN
            cause := 'CAPACITY';
            message := kind.replicas || CASE kind.replicas WHEN 1 THEN ' replica' ELSE ' replicas' END || ' could run it, all are full';
            detail := jsonb_build_object('replicas', kind.replicas, 'replica_ids', kind.ids);
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION rowrun.waits_for_replica(bigint[], timestamptz) IS 'Internal: the causes that a run''s task and the replicas are.';

-- Who holds rows that the promotion or the claim of these runs would lock: the passes go by a row that somebody holds.
CREATE FUNCTION rowrun.passed_by(ids bigint[], t timestamptz)
    RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH late AS MATERIALIZED (
        SELECT r.* FROM generate_subscripts(ids, 1) n
        CROSS JOIN LATERAL (SELECT u.id, u.xmax AS holder, u.plan_id, u.status = 'PENDING' AND num_nonnulls(u.plan_id, u.database_id) > 0 AS gated
                            FROM rowrun.task_run u
                            WHERE u.id = ids[n] AND greatest(u.created_at, u.run_at, u.available_at) < t - interval '2 s' OFFSET 0) r
    )
    SELECT x.id, 'NO_REPLICA', 'replicas pass it by: session ' || l.pid || coalesce(' of ' || a.usename, '') || ' holds ' || min(x.what)
               || '; to end it: SELECT pg_terminate_backend(' || l.pid || ')',
           jsonb_build_object('pid', l.pid, 'user', a.usename)
    FROM (SELECT r.id, r.holder, 'the run' AS what FROM late r
          UNION ALL SELECT r.id, p.xmax, 'plan ' || p.id FROM late r JOIN rowrun.plan p ON p.id = r.plan_id
          UNION ALL SELECT r.id, p.xmax, 'the lock of the gates' FROM late r CROSS JOIN rowrun.promotion_lock p WHERE r.gated) x
    JOIN pg_locks l ON l.locktype = 'transactionid' AND l.transactionid = x.holder AND l.mode = 'ExclusiveLock' AND l.granted
    LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE x.holder <> '0'::xid AND l.pid <> pg_backend_pid() AND (a.xact_start > t - interval '2 s') IS NOT TRUE
      -- Whose transactions this role may not see the start of may be passes of a moment.
      AND (a.xact_start IS NOT NULL OR pg_has_role(a.usesysid, 'rowrun_replica', 'MEMBER') IS NOT TRUE)
    GROUP BY x.id, l.pid, a.usename;
END;
COMMENT ON FUNCTION rowrun.passed_by(bigint[], timestamptz) IS 'Internal: who holds the rows of runs that nothing else holds back.';

-- Why these runs are not running: all causes that hold for each of them. Half of what a statement takes for one run is its
-- start. So each is sent only where its answer may be a cause, and one about a database, a plan or a kind of run only where
-- the run before was of another: whoever asks about many names them in that order. Written as one statement for all causes
-- it took 2.5 ms to start, and 50 ms to plan.
CREATE FUNCTION rowrun.waits_for(ids bigint[]) RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET jit = off
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off -- a session that first asked while the tables were empty goes on by index
    SET enable_bitmapscan = off
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := clock_timestamp();
    told bigint[] := '{}';
    untold bigint[];
BEGIN
    FOR run_id, cause, message, detail IN
        SELECT * FROM rowrun.waits_for_database(ids, t)
        UNION ALL SELECT * FROM rowrun.waits_for_plan(ids, t)
        UNION ALL SELECT * FROM rowrun.waits_for_replica(ids, t)
    LOOP
        told := told || run_id;
        RETURN NEXT;
    END LOOP;
    untold := ARRAY(SELECT unnest(ids) EXCEPT SELECT unnest(told));
    IF untold <> '{}' THEN
        RETURN QUERY SELECT * FROM rowrun.passed_by(untold, t);
    END IF;
END
$$;
COMMENT ON FUNCTION rowrun.waits_for(bigint[]) IS 'Internal: all causes that hold, of those of these runs that wait.';

-- All runs that wait, a thousand at once, in the order that waits_for is quick with.
CREATE FUNCTION rowrun.waiting_pages() RETURNS TABLE (ids bigint[])
    LANGUAGE plpgsql STABLE ROWS 10
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT array_agg(r.id ORDER BY r.n)
    FROM (SELECT u.id, row_number() OVER (ORDER BY u.database_id, u.plan_id, u.type, u.queue, u.id) AS n
          FROM rowrun.task_run u WHERE u.status IN ('PENDING', 'AVAILABLE')) r
    GROUP BY (r.n - 1) / 1000;
END
$$;
COMMENT ON FUNCTION rowrun.waiting_pages() IS 'Internal: all runs that wait, a thousand at once.';

-- In place of its call, so that who reads only some of the rows has only some of the pages asked; small, so that a session
-- doesn't compile it.
CREATE FUNCTION rowrun.waiting(run_id bigint DEFAULT NULL)
    RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT w.run_id, w.cause, w.message, w.detail FROM rowrun.waits_for(ARRAY[waiting.run_id]) w
    WHERE waiting.run_id IS NOT NULL
    UNION ALL
    SELECT w.run_id, w.cause, w.message, w.detail FROM rowrun.waiting_pages() p CROSS JOIN LATERAL rowrun.waits_for(p.ids) w
    WHERE waiting.run_id IS NULL;
END;
COMMENT ON FUNCTION rowrun.waiting(bigint) IS 'Why a run is not running: all causes that hold; NULL: of every run that waits.';

INSERT INTO rowrun.migration (version) VALUES (7);
