-- How many runs below a priority a replica may take beside those that it runs, where it has slots of its own for higher ones; NULL: it
-- has none.
CREATE OR REPLACE FUNCTION rowrun.open_slots(h rowrun.replica_heartbeat, priority integer) RETURNS bigint LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT min(h.concurrency - v.slots
               - (SELECT count(*) FROM rowrun.task_run a WHERE a.replica_id = h.replica_id AND a.status = 'RUNNING' AND a.priority < v.priority))
    FROM (SELECT h.reserve[2 * i - 1] AS priority, sum(h.reserve[2 * i]) OVER (ORDER BY h.reserve[2 * i - 1] DESC) AS slots
          FROM generate_series(1, cardinality(h.reserve) / 2) i) v
    WHERE v.priority > open_slots.priority;
END;
COMMENT ON FUNCTION rowrun.open_slots(rowrun.replica_heartbeat, integer) IS 'Internal: slots of a replica for runs of a priority, where others are reserved.';

-- Live replicas that could run a run of this kind, at most a hundred ids of them, and the most slots that one has: free, free and with
-- room for its type, and of those that a run of this priority may take.
CREATE OR REPLACE FUNCTION rowrun.kind_stands(queue text, type text, database_id text, payload jsonb, t timestamptz, available boolean, priority integer)
    RETURNS TABLE (replicas bigint, free bigint, room bigint, open bigint, ids jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT count(*), max(s.free), max(s.room), max(least(s.room, s.open)), to_jsonb((array_agg(h.replica_id ORDER BY h.replica_id))[1:100])
    FROM rowrun.replica_heartbeat h
    LEFT JOIN LATERAL (
        SELECT f.free, greatest(least(f.free,
                   CASE WHEN jsonb_typeof(coalesce(h.type_concurrency -> kind_stands.type, h.type_concurrency -> '*')) = 'number'
                        THEN coalesce(h.type_concurrency -> kind_stands.type, h.type_concurrency -> '*')::numeric - f.of_type END), 0)::bigint AS room,
               rowrun.open_slots(h, kind_stands.priority) AS open
        FROM (SELECT h.concurrency - count(*) AS free, count(*) FILTER (WHERE a.type = kind_stands.type) AS of_type
              FROM rowrun.task_run a WHERE a.replica_id = h.replica_id AND a.status = 'RUNNING') f
        WHERE available) s ON true
    WHERE rowrun.takes(h, t, queue, type, kind_stands.database_id, payload);
END;
COMMENT ON FUNCTION rowrun.kind_stands(text, text, text, jsonb, timestamptz, boolean, integer) IS 'Internal: live replicas that could run runs of a kind, and their free slots.';

-- The engine of a target database in brackets, as the newest replica says that has had it; nothing for PostgreSQL.
CREATE OR REPLACE FUNCTION rowrun.engine_in_words(database_id text) RETURNS text
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce((SELECT ' (' || left(h.engines ->> engine_in_words.database_id, 50) || ')' FROM rowrun.replica_heartbeat h
                     WHERE engine_in_words.database_id = ANY (h.databases) ORDER BY h.started_at DESC LIMIT 1), '');
END;
COMMENT ON FUNCTION rowrun.engine_in_words(text) IS 'Internal: the engine of a target database that is not PostgreSQL.';

-- The causes that a run's task and the replicas are.
CREATE OR REPLACE FUNCTION rowrun.waits_for_replica(ids bigint[], t timestamptz) RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    r record;
    kind record; -- of the run before
    kind_of text[];
    key text[];
    reserved boolean := EXISTS (SELECT FROM rowrun.replica_heartbeat h WHERE h.reserve IS NOT NULL);
BEGIN
    FOR r IN
        SELECT w.*, w.database_id IS NOT NULL
                    OR w.plan_id IS NOT NULL AND (SELECT p.parallel_limit IS NOT NULL FROM rowrun.plan p WHERE p.id = w.plan_id)
                    OR rowrun.may_be_limited() AND EXISTS (SELECT FROM rowrun.limited_of(ARRAY[w.id])) AS gated
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
        key := ARRAY[r.pending::text, r.queue, r.type, r.database_id, r.command::text, CASE WHEN reserved THEN r.priority::text END];
        IF kind_of IS DISTINCT FROM key THEN
            SELECT * INTO kind FROM rowrun.kind_stands(
                r.queue, r.type, r.database_id, CASE WHEN r.type = 'COMMAND' THEN jsonb_build_object('command', r.command) END, t, NOT r.pending, r.priority);
            kind_of := key;
        END IF;
        IF kind.replicas = 0 THEN
            cause := 'NO_REPLICA';
            message := 'no live replica runs type ' || r.type || CASE r.queue WHEN 'default' THEN '' ELSE ' in queue ' || r.queue END
                || CASE WHEN r.type IN ('SQL', 'DATABASE_MIGRATE') THEN coalesce(' on ' || r.database_id || rowrun.engine_in_words(r.database_id), ': its task has no database_id')
                        WHEN r.type = 'COMMAND' THEN coalesce(' ' || (r.command #>> '{}'), ': its payload has no command') ELSE '' END;
            detail := jsonb_build_object('type', r.type, 'queue', r.queue, 'database_id', r.database_id);
            RETURN NEXT;
        ELSIF NOT r.pending AND kind.open <= 0 THEN
            cause := 'CAPACITY';
            message := kind.replicas || CASE kind.replicas WHEN 1 THEN ' replica' ELSE ' replicas' END || ' could run it, '
                || CASE WHEN kind.free <= 0 THEN 'all are full' WHEN kind.room <= 0 THEN 'those with free slots have no room for its type'
                        ELSE 'the slots that are free are reserved for higher priorities' END;
            detail := jsonb_build_object('replicas', kind.replicas, 'replica_ids', kind.ids);
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION rowrun.waits_for_replica(bigint[], timestamptz) IS 'Internal: the causes that a run''s task and the replicas are.';

-- Who holds rows that the promotion or the claim of these runs would lock: the passes go by a row that somebody holds.
CREATE OR REPLACE FUNCTION rowrun.passed_by(ids bigint[], t timestamptz)
    RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH late AS MATERIALIZED (
        SELECT r.* FROM generate_subscripts(ids, 1) n
        CROSS JOIN LATERAL (SELECT u.id, u.xmax AS holder, u.plan_id, u.status = 'PENDING' AND num_nonnulls(u.plan_id, u.database_id) > 0 AS gated
                            FROM rowrun.task_run u
                            WHERE u.id = ids[n] AND coalesce(u.status, '') IN ('PENDING', 'AVAILABLE')
                              AND greatest(u.created_at, u.run_at, u.available_at) < t - interval '2 s' OFFSET 0) r
    )
    SELECT x.id, 'NO_REPLICA' AS cause,
           CASE WHEN l.pid IS NULL THEN 'replicas pass it by: the prepared transaction ' || coalesce(quote_literal(p.gid), '?') || ' holds ' || min(x.what)
                    || '; to end it: ROLLBACK PREPARED ' || coalesce(quote_literal(p.gid), '?')
                ELSE 'replicas pass it by: session ' || l.pid || coalesce(' of ' || a.usename, '') || ' holds ' || min(x.what)
                    || '; to end it: SELECT pg_terminate_backend(' || l.pid || ')' END AS message,
           CASE WHEN l.pid IS NULL THEN jsonb_build_object('prepared', p.gid, 'user', p.owner)
                ELSE jsonb_build_object('pid', l.pid, 'user', a.usename) END AS detail
    FROM (SELECT r.id, r.holder, 'the run' AS what FROM late r
          UNION ALL SELECT r.id, p.xmax, 'plan ' || p.id AS what FROM late r JOIN rowrun.plan p ON p.id = r.plan_id
          UNION ALL SELECT r.id, p.xmax, 'the lock of the gates' AS what FROM late r CROSS JOIN rowrun.promotion_lock p WHERE r.gated) x
    JOIN pg_locks l ON l.locktype = 'transactionid' AND l.transactionid = x.holder AND l.mode = 'ExclusiveLock' AND l.granted
    LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    LEFT JOIN pg_prepared_xacts p ON p.transaction = l.transactionid AND l.pid IS NULL
    WHERE x.holder <> '0'::xid AND l.pid IS DISTINCT FROM pg_backend_pid() AND (coalesce(a.xact_start, p.prepared) > t - interval '2 s') IS NOT TRUE
      -- Whose transactions this role may not see the start of may be passes of a moment.
      AND (a.xact_start IS NOT NULL OR pg_has_role(a.usesysid, 'rowrun_replica', 'MEMBER') IS NOT TRUE)
    GROUP BY x.id, l.pid, a.usename, p.gid, p.owner;
END;
COMMENT ON FUNCTION rowrun.passed_by(bigint[], timestamptz) IS 'Internal: who holds the rows of runs that nothing else holds back.';
