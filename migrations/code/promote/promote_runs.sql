-- One promote pass: PENDING -> AVAILABLE for what has every gate open. Returns how many were promoted, whether another
-- replica was at it (look again in some ms), whether there is more to do now, and how many ms until the next run_at.
-- "most" is how many runs and marks it takes on at once: a replica whose pass took longer than its statements may asks
-- for fewer, because the same pass would fail again, for ever. Lists are read as far as ever and cut then: a limit that
-- the planner doesn't know would have it choose other indexes.
--
-- Runs without plan and database have no gate to be exact about: any number of replicas promotes them side by side,
-- SKIP LOCKED. All others are judged under one lock (rowrun.promotion_lock), held by this one statement's transaction: what it
-- counts can then only fall behind the truth by runs that end, which opens gates and closes none. Each inner statement
-- has a snapshot of its own, taken after the lock.
--
-- Where rows are named by id, status is asked as coalesce(status, ''): otherwise a partial index on that status, empty
-- when the statistics were made, looks cheaper than the key, and each of its rows is compared with each id. The same
-- goes for plan_id IS NOT NULL.
CREATE OR REPLACE FUNCTION rowrun.promote_runs(sweep boolean DEFAULT false, free boolean DEFAULT true, most integer DEFAULT 1000,
    OUT promoted integer, OUT busy boolean, OUT more boolean, OUT next_ms double precision)
    LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
    SET jit = off
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET lock_timeout = '200ms'
AS $$
DECLARE
    t timestamptz := clock_timestamp();
    ids bigint[];
    items text[];
    changed_ids bigint[];
    due bigint[];
    freed_dbs text[];
    mark_runs bigint[];
    mark_dbs text[];
    mark_plans bigint[];
    mark_gates bigint[];
    mark_wide bigint[];
    mark_dependents bigint[];
    mark_rounds jsonb;
    late bigint[];
    mark_tasks bigint[];
    mark_paused bigint[];
    mark_failures jsonb;
    mark_replica boolean;
    found_marks integer;
    asked boolean;
    of_plans boolean;
    candidates bigint[];
    locked bigint[];
    locked_plans bigint[];
    verdict_ids bigint[];
    verdict_holds text[];
    open_ids bigint[];
    plan_runs bigint[];
    again_dbs text[];
    gate_dbs text[];
    bound integer := 2 * most;
    fresh_dbs text[];
    part bigint[];
    run bigint;
    last_mark bigint;
BEGIN
    promoted := 0;
    more := false;

    -- Runs that only time and a pause may hold, unless a statement of the same transaction has just looked for them.
    IF free THEN
        ids := ARRAY(SELECT r.id FROM task_run r
                     WHERE r.status = 'PENDING' AND r.hold = 'READY' AND r.plan_id IS NULL
                     ORDER BY r.plan_id, r.priority DESC, r.run_at, r.id LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED)
            || ARRAY(SELECT r.id FROM task_run r
                     WHERE r.judge_at <= t AND r.plan_id IS NULL AND r.database_id IS NULL AND r.status = 'PENDING'
                     ORDER BY r.judge_at LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED);
        IF cardinality(ids) > 0 THEN
            more := cardinality(ids) >= least(most, 1000);
            ids := ids[1:2 * most];
            -- Some of them may have been inserted after t.
            WITH changed AS (
                UPDATE task_run r
                SET status = 'AVAILABLE', prev_status = 'PENDING', available_at = greatest(t, r.run_at), updated_at = greatest(t, r.updated_at + interval '1 us'),
                    hold = NULL, judge_at = NULL
                FROM task k
                WHERE r.id = ANY (ids) AND k.id = r.task_id AND NOT k.paused AND NOT k.skipped AND (r.missed_at < t) IS NOT TRUE
                RETURNING r.id, transition(r) AS item
            )
            SELECT count(*), array_agg(c.id), array_agg(c.item) INTO promoted, changed_ids, items FROM changed c;
            PERFORM announce(items), note_promoted(changed_ids);
            IF promoted < cardinality(ids) THEN
                -- The lock on the task orders this against the user who unpauses it: either its mark is seen later, or
                -- the task is not paused any more.
                PERFORM FROM task k WHERE k.id IN (SELECT r.task_id FROM task_run r WHERE r.id = ANY (ids) AND coalesce(r.status, '') = 'PENDING')
                ORDER BY k.id FOR SHARE SKIP LOCKED;
                UPDATE task_run r SET hold = 'PAUSED', judge_at = NULL, prev_status = NULL
                FROM task k
                WHERE r.id = ANY (ids) AND coalesce(r.status, '') = 'PENDING' AND k.id = r.task_id AND k.paused AND NOT k.skipped;
                UPDATE task_run r
                SET status = 'CANCELED', cancel_reason = 'task skipped'
                FROM task k
                WHERE r.id = ANY (ids) AND coalesce(r.status, '') = 'PENDING' AND k.id = r.task_id AND k.skipped;
                PERFORM rowrun.skip_missed(ARRAY(SELECT r.id FROM task_run r WHERE r.id = ANY (ids) AND coalesce(r.status, '') = 'PENDING'
                                                 AND r.missed_at < t AND r.hold IS DISTINCT FROM 'PAUSED'));
            END IF;
        END IF;
    END IF;

    -- When the next run is due, whoever inserts an earlier one says so; and whether anything asks for more.
    SELECT extract(epoch FROM least(
               (SELECT r.judge_at FROM task_run r
                WHERE r.judge_at > t AND r.plan_id IS NULL AND r.database_id IS NULL ORDER BY r.judge_at LIMIT 1),
               (SELECT r.judge_at FROM task_run r
                WHERE r.judge_at > t AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL) ORDER BY r.judge_at LIMIT 1)) - t) * 1000,
           sweep OR EXISTS (SELECT FROM gate_mark)
               OR EXISTS (SELECT FROM task_run r WHERE r.judge_at <= t AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL))
    INTO next_ms, asked;
    IF asked THEN
        PERFORM FROM promotion_lock l WHERE l.id = 1 FOR UPDATE SKIP LOCKED;
        busy := NOT FOUND;
        IF busy AND sweep THEN -- the row may be missing, after a restore of parts
            INSERT INTO promotion_lock (id) VALUES (1) ON CONFLICT DO NOTHING;
        END IF;
    END IF;
    IF busy IS NOT FALSE THEN
        busy := coalesce(busy, false);
        RETURN;
    END IF;
    t := clock_timestamp();

    -- 1. What the marks name.
    WITH taken AS (
        DELETE FROM gate_mark WHERE id = ANY (ARRAY(SELECT m.id FROM gate_mark m ORDER BY m.id LIMIT most)) RETURNING *
    )
    SELECT count(*), coalesce(array_agg(DISTINCT k.run_id) FILTER (WHERE k.kind = 'RUN'), '{}'),
           coalesce(array_agg(DISTINCT k.database_id) FILTER (WHERE k.kind = 'DATABASE'), '{}'),
           coalesce(array_agg(DISTINCT k.plan_id) FILTER (WHERE k.kind IN ('PLAN', 'GATE')), '{}'),
           coalesce(array_agg(DISTINCT k.plan_id) FILTER (WHERE k.kind = 'GATE'), '{}'),
           coalesce(array_agg(DISTINCT k.plan_id) FILTER (WHERE k.wide), '{}'),
           coalesce(array_agg(DISTINCT k.task_id) FILTER (WHERE k.kind = 'DEPENDENT'), '{}'),
           coalesce(array_agg(DISTINCT k.task_id) FILTER (WHERE k.kind = 'TASK'), '{}'),
           coalesce(array_agg(DISTINCT k.task_id) FILTER (WHERE k.kind = 'PAUSE'), '{}'),
           jsonb_agg(DISTINCT jsonb_build_object('plan_id', k.plan_id, 'database_id', k.database_id)) FILTER (WHERE k.kind = 'FAILURE'),
           coalesce(bool_or(k.kind = 'REPLICA'), false),
           jsonb_agg(DISTINCT jsonb_build_object('plan_id', k.plan_id, 'round', k.round, 'by_run', k.by_run)) FILTER (WHERE k.round IS NOT NULL)
    INTO found_marks, mark_runs, mark_dbs, mark_plans, mark_gates, mark_wide, mark_dependents, mark_tasks, mark_paused, mark_failures, mark_replica, mark_rounds
    FROM taken k;
    more := more OR found_marks = most;
    IF sweep OR cardinality(mark_plans) > 0 THEN
        PERFORM rowrun.settle_plans(mark_plans, mark_rounds, sweep);
    END IF;
    IF cardinality(mark_gates) > 0 THEN
        -- The sequential runs of these plans hold others back on their databases, or no more.
        gate_dbs := ARRAY(SELECT DISTINCT k.database_id FROM task k
                          WHERE k.plan_id = ANY (mark_gates) AND k.database_id IS NOT NULL AND k.outcome IS DISTINCT FROM 'DONE'
                            AND k.database_id <> ALL (mark_dbs));
        mark_dbs := mark_dbs || gate_dbs[1:most];
        IF cardinality(gate_dbs) > most THEN
            INSERT INTO gate_mark (kind, database_id) SELECT 'DATABASE', unnest(gate_dbs[most + 1:]);
            more := true;
        END IF;
    END IF;

    IF sweep THEN
        -- The safety net: databases on which something waits and nothing is active, plans with runs that are ready.
        WITH RECURSIVE d AS (
            (SELECT r.database_id FROM task_run r WHERE r.status = 'PENDING' AND r.hold = 'DATABASE' ORDER BY r.database_id LIMIT 1)
            UNION ALL
            SELECT (SELECT r.database_id FROM task_run r WHERE r.status = 'PENDING' AND r.hold = 'DATABASE'
                      AND r.database_id > d.database_id ORDER BY r.database_id LIMIT 1)
            FROM d WHERE d.database_id IS NOT NULL
        )
        SELECT mark_dbs || coalesce(array_agg(q.database_id), '{}') INTO mark_dbs
        FROM (SELECT d.database_id FROM d WHERE d.database_id IS NOT NULL
                AND d.database_id <> ALL (mark_dbs)
                AND NOT EXISTS (SELECT FROM task_run a WHERE a.database_id = d.database_id AND a.status IN ('AVAILABLE', 'RUNNING'))
              ORDER BY random() LIMIT bound) q;
        WITH RECURSIVE p AS (
            (SELECT r.plan_id FROM task_run r WHERE r.status = 'PENDING' AND r.hold = 'READY' AND r.plan_id > 0 ORDER BY r.plan_id LIMIT 1)
            UNION ALL
            SELECT (SELECT r.plan_id FROM task_run r WHERE r.status = 'PENDING' AND r.hold = 'READY'
                      AND r.plan_id > p.plan_id ORDER BY r.plan_id LIMIT 1)
            FROM p WHERE p.plan_id IS NOT NULL
        )
        SELECT mark_plans || coalesce(array_agg(q.plan_id), '{}') INTO mark_plans
        FROM (SELECT p.plan_id FROM p WHERE p.plan_id IS NOT NULL AND p.plan_id <> ALL (mark_plans)
              ORDER BY random() LIMIT bound) q;
    END IF;

    -- 2. Whom to judge. Every list is bounded; where a bound is met, the rest keeps its mark.
    due := ARRAY(SELECT r.id FROM task_run r
                 WHERE r.judge_at <= t AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
                 ORDER BY r.judge_at LIMIT 1000);
    due := due[1:most];
    more := more OR cardinality(due) >= least(most, 1000);
    candidates := due || mark_runs;

    IF cardinality(mark_dbs) > 0 THEN
        -- Of each database those that the order lets through: without a version, or of the smallest unfinished one. Behind
        -- a sequential run nothing starts, so that some of these end the list. Where something else holds them now, they
        -- are passed over, and their database keeps a mark (freed_dbs).
        SELECT candidates || coalesce(array_agg(c.id), '{}'), coalesce(array_agg(DISTINCT c.database_id) FILTER (WHERE c.n = least(most, 200)), '{}')
        INTO candidates, again_dbs
        FROM unnest(mark_dbs) d(database_id)
        CROSS JOIN LATERAL (
            SELECT least(
                (SELECT r.version_key FROM task_run r WHERE r.database_id = d.database_id AND r.status = 'PENDING'
                   AND r.version_key IS NOT NULL ORDER BY r.version_key LIMIT 1),
                (SELECT r.version_key FROM task_run r WHERE r.database_id = d.database_id AND r.status IN ('AVAILABLE', 'RUNNING')
                   AND r.version_key IS NOT NULL ORDER BY r.version_key LIMIT 1)) AS smallest
        ) m
        CROSS JOIN LATERAL (
            SELECT x.id, d.database_id, row_number() OVER () AS n,
                   count(*) FILTER (WHERE x.sequential) OVER (ROWS UNBOUNDED PRECEDING) - x.sequential::int AS before FROM (
                SELECT r.id, r.sequential FROM task_run r
                WHERE r.status = 'PENDING' AND r.hold = 'DATABASE' AND r.database_id = d.database_id AND r.version_key IS NULL
                ORDER BY r.version_key, r.priority DESC, r.run_at, r.id LIMIT 200) x
            UNION ALL
            SELECT x.id, d.database_id, row_number() OVER () AS n,
                   count(*) FILTER (WHERE x.sequential) OVER (ROWS UNBOUNDED PRECEDING) - x.sequential::int AS before FROM (
                SELECT r.id, r.sequential FROM task_run r
                WHERE r.status = 'PENDING' AND r.hold = 'DATABASE' AND r.database_id = d.database_id AND r.version_key = m.smallest
                ORDER BY r.priority DESC, r.run_at, r.id LIMIT 200) x
        ) c
        WHERE c.n <= most AND c.before < 5;
    END IF;

    IF cardinality(mark_dependents) > 0 THEN
        candidates := candidates || ARRAY(
            SELECT u.id FROM unnest(mark_dependents) w(task_id)
            CROSS JOIN LATERAL (
                SELECT x.id, x.status FROM task_run x
                WHERE x.task_id = w.task_id AND x.plan_id IS NOT NULL AND x.status IN ('PENDING', 'AVAILABLE', 'RUNNING') LIMIT 1) u
            WHERE coalesce(u.status, '') = 'PENDING');
    END IF;

    IF cardinality(mark_tasks) > 0 THEN
        -- Dependents whose every dependency is met now, asked of each (OFFSET 0): a join would read all dependencies there are.
        part := ARRAY(SELECT r.id
                      FROM (SELECT DISTINCT e.task_id FROM task_dependency e WHERE e.depends_on_id = ANY (mark_tasks)) w
                      CROSS JOIN LATERAL (
                          SELECT u.id, u.hold FROM task_run u
                          WHERE u.task_id = w.task_id AND u.plan_id IS NOT NULL
                            AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND coalesce(u.status, '') = 'PENDING' LIMIT 1) r
                      WHERE (r.hold = 'DEPENDENCY' OR r.hold IS NULL)
                        AND NOT EXISTS (SELECT FROM unmet_dependency d WHERE d.task_id = w.task_id OFFSET 0)
                      LIMIT 2000);
        IF cardinality(part) >= least(bound, 2000) THEN
            part := part[1:bound];
            INSERT INTO gate_mark (kind, task_id) SELECT 'TASK', unnest(mark_tasks);
            more := true;
        END IF;
        candidates := candidates || part;
    END IF;

    IF cardinality(mark_paused) > 0 THEN
        part := ARRAY(SELECT r.id FROM task_run r JOIN task k ON k.id = r.task_id
                      WHERE r.task_id = ANY (mark_paused) AND r.status = 'PENDING' AND r.hold = 'PAUSED' AND NOT k.paused
                      LIMIT 2000);
        IF cardinality(part) >= least(bound, 2000) THEN
            part := part[1:bound];
            INSERT INTO gate_mark (kind, task_id) SELECT 'PAUSE', unnest(mark_paused);
            more := true;
        END IF;
        candidates := candidates || part;
    END IF;

    IF mark_failures IS NOT NULL THEN
        part := ARRAY(SELECT r.id FROM jsonb_to_recordset(mark_failures) AS f(plan_id bigint, database_id text)
                      JOIN task_run r ON r.plan_id = f.plan_id AND r.database_id = f.database_id
                      WHERE r.status = 'PENDING' AND r.hold = 'FAILURE'
                        AND NOT EXISTS (SELECT FROM task x JOIN plan p ON p.id = x.plan_id
                                        WHERE x.plan_id = r.plan_id AND x.database_id = r.database_id
                                          AND p.on_failure = 'STOP_DATABASE' AND x.version_key < r.version_key
                                          AND x.outcome IN ('FAILED', 'CANCELED') AND NOT x.skipped)
                      LIMIT 2000);
        IF cardinality(part) >= least(bound, 2000) THEN
            part := part[1:bound];
            INSERT INTO gate_mark (kind, plan_id, database_id)
            SELECT 'FAILURE', f.plan_id, f.database_id FROM jsonb_to_recordset(mark_failures) AS f(plan_id bigint, database_id text);
            more := true;
        END IF;
        candidates := candidates || part;
    END IF;

    IF mark_replica THEN
        -- By kind first: a million runs that nobody can take cost a few looks.
        WITH RECURSIVE kinds AS (
            (SELECT r.queue, r.type, coalesce(r.database_id, '') AS database_id, r.database_id IS NULL AS none
             FROM task_run r WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' ORDER BY r.queue, r.type, r.database_id LIMIT 1)
            UNION ALL
            SELECT n.queue, n.type, coalesce(n.database_id, ''), n.database_id IS NULL
            FROM kinds k
            CROSS JOIN LATERAL (
                (SELECT r.queue, r.type, r.database_id FROM task_run r
                 WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' AND NOT k.none
                   AND r.queue = k.queue AND r.type = k.type AND r.database_id > k.database_id
                 ORDER BY r.queue, r.type, r.database_id LIMIT 1)
                UNION ALL
                (SELECT r.queue, r.type, r.database_id FROM task_run r
                 WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' AND NOT k.none
                   AND r.queue = k.queue AND r.type = k.type AND r.database_id IS NULL
                 ORDER BY r.queue, r.type, r.database_id LIMIT 1)
                UNION ALL
                (SELECT r.queue, r.type, r.database_id FROM task_run r
                 WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' AND (r.queue, r.type) > (k.queue, k.type)
                 ORDER BY r.queue, r.type, r.database_id LIMIT 1)
                LIMIT 1
            ) n
        ), fitting AS MATERIALIZED (
            SELECT k.* FROM kinds k
            WHERE EXISTS (SELECT FROM replica_heartbeat h
                          WHERE rowrun.takes(h, t, k.queue, k.type, CASE WHEN NOT k.none THEN k.database_id END, NULL))
        )
        SELECT coalesce(array_agg(x.id), '{}') INTO part FROM (
            SELECT r.id FROM fitting f
            CROSS JOIN LATERAL (
                SELECT q.id, q.queue, q.type, q.database_id, q.task_id FROM task_run q WHERE q.status = 'PENDING' AND q.hold = 'REPLICA'
                   AND q.queue = f.queue AND q.type = f.type AND NOT f.none AND q.database_id = f.database_id
                UNION ALL
                SELECT q.id, q.queue, q.type, q.database_id, q.task_id FROM task_run q WHERE q.status = 'PENDING' AND q.hold = 'REPLICA'
                   AND q.queue = f.queue AND q.type = f.type AND f.none AND q.database_id IS NULL
            ) r
            JOIN task k ON k.id = r.task_id
            WHERE r.type <> 'COMMAND'
               OR EXISTS (SELECT FROM replica_heartbeat h WHERE rowrun.takes(h, t, r.queue, r.type, r.database_id, k.payload))
            LIMIT 2000) x;
        IF cardinality(part) >= least(bound, 2000) THEN
            part := part[1:bound];
            INSERT INTO gate_mark (kind) VALUES ('REPLICA');
            more := true;
        END IF;
        candidates := candidates || part;
    END IF;

    -- The plans of the candidates are looked at too: a retry may have ended a STOP.
    IF cardinality(due) > 0 THEN
        SELECT coalesce(array_agg(DISTINCT q.plan_id), '{}') INTO mark_plans
        FROM (SELECT unnest(mark_plans) AS plan_id
              UNION SELECT r.plan_id FROM task_run r WHERE r.id = ANY (due) AND num_nonnulls(r.plan_id) = 1) q;
    END IF;
    IF cardinality(mark_plans) > 0 THEN
        plan_runs := ARRAY(
            SELECT x.id FROM unnest(mark_plans) p(id)
            CROSS JOIN LATERAL rowrun.plan_room(p.id) room
            CROSS JOIN LATERAL (
                SELECT r.id FROM task_run r WHERE r.plan_id = p.id AND r.status = 'PENDING' AND r.hold = 'READY'
                ORDER BY r.priority DESC, r.run_at, r.id LIMIT CASE WHEN p.id = ANY (mark_wide) THEN most ELSE least(room.slots, most) END) x
            WHERE room.open AND room.slots > 0);
        candidates := candidates || plan_runs;
    ELSE
        plan_runs := '{}';
    END IF;

    IF cardinality(candidates) = 0 THEN
        RETURN;
    END IF;

    -- 3. Rows that a user holds are left for later.
    SELECT coalesce(array_agg(r.id), '{}'), array_agg(DISTINCT r.plan_id) FILTER (WHERE r.plan_id IS NOT NULL)
    INTO locked, locked_plans
    FROM (SELECT r.id, r.plan_id FROM task_run r WHERE r.id = ANY (candidates) AND coalesce(r.status, '') = 'PENDING'
          ORDER BY r.id FOR NO KEY UPDATE SKIP LOCKED) r;
    IF cardinality(locked) < cardinality(candidates) THEN
        INSERT INTO gate_mark (kind, run_id)
        SELECT DISTINCT 'RUN', c.id FROM unnest(candidates) c(id)
        WHERE c.id <> ALL (locked)
          AND EXISTS (SELECT FROM task_run r WHERE r.id = c.id AND coalesce(r.status, '') = 'PENDING' AND r.judge_at IS NULL);
    END IF;

    -- Their moment is one before the next statement's snapshot, so that whatever gate was closed by then is seen closed; and not before an
    -- end that the snapshot sees, because the times would then suggest that more ran at once than did. An end after t leaves
    -- its mark behind the last one now.
    last_mark := coalesce(pg_sequence_last_value('rowrun.gate_mark_id_seq'), 0);
    t := clock_timestamp();

    -- 4. The verdict on each: NULL, or what holds it.
    WITH moment AS MATERIALIZED (
        SELECT greatest(t, (SELECT max(m.at) FROM gate_mark m WHERE m.id > last_mark)) AS t
    ), room AS MATERIALIZED (
        -- Taken for many, so that they are hashed: as many plans as runs would be compared each with each.
        SELECT l.id AS plan_id, p.open, p.slots, l.parallel_limit IS NOT NULL AS limited
        FROM generate_subscripts(locked_plans, 1) n CROSS JOIN LATERAL (SELECT * FROM plan l WHERE l.id = locked_plans[n] OFFSET 0) l
        CROSS JOIN LATERAL rowrun.plan_room(l.id) p
    ), candidate AS MATERIALIZED (
        SELECT r.id, r.plan_id, r.database_id, r.version_key, r.sequential, r.priority, r.run_at, r.hold AS held,
               coalesce(p.open, true) AS plan_open, coalesce(p.slots, 1) AS slots, g.gate
        FROM task_run r
        LEFT JOIN room p ON p.plan_id = r.plan_id
        CROSS JOIN moment
        CROSS JOIN LATERAL rowrun.closed_gate(r, coalesce(p.limited, false), moment.t) g
        WHERE r.id = ANY (locked)
    ), target AS MATERIALIZED (
        -- What is AVAILABLE or RUNNING there: asked once, because with an old snapshot each answer passes by all that ended.
        SELECT d.database_id,
               CASE WHEN d.sequential THEN EXISTS (SELECT FROM task_run a WHERE a.database_id = d.database_id
                                                   AND a.status IN ('AVAILABLE', 'RUNNING')) END AS active,
               CASE WHEN d.others THEN EXISTS (SELECT FROM task_run a WHERE a.database_id = d.database_id AND a.sequential
                                               AND a.status IN ('AVAILABLE', 'RUNNING')) END AS active_sequential
        FROM (SELECT c.database_id, bool_or(c.sequential) AS sequential, bool_or(NOT c.sequential) AS others
              FROM candidate c WHERE c.gate IS NULL AND c.plan_open AND c.slots > 0 AND c.database_id IS NOT NULL GROUP BY 1) d
    ), open AS MATERIALIZED (
        -- Mutual exclusion with that.
        SELECT c.*, coalesce(CASE WHEN c.sequential THEN d.active ELSE d.active_sequential END, false) AS busy
        FROM candidate c LEFT JOIN target d ON d.database_id = c.database_id
        WHERE c.gate IS NULL AND c.plan_open AND c.slots > 0
    ), base AS MATERIALIZED (
        -- A run whose gates are open has the smallest version there is.
        SELECT d.database_id, coalesce(d.version_key, least(
                   (SELECT r.version_key FROM task_run r WHERE r.database_id = d.database_id AND r.status = 'PENDING'
                      AND r.version_key IS NOT NULL ORDER BY r.version_key LIMIT 1),
                   (SELECT r.version_key FROM task_run r WHERE r.database_id = d.database_id AND r.status IN ('AVAILABLE', 'RUNNING')
                      AND r.version_key IS NOT NULL ORDER BY r.version_key LIMIT 1))) AS smallest
        FROM (SELECT o.database_id, min(o.version_key) AS version_key FROM open o WHERE o.database_id IS NOT NULL GROUP BY 1) d
    ), first_sequential AS MATERIALIZED (
        -- Of each database the first sequential run that mutual exclusion alone holds, candidate or not: the runs
        -- that come later in the order wait behind it.
        SELECT DISTINCT ON (s.database_id) s.database_id, s.id, s.priority, s.run_at
        FROM (
            SELECT o.database_id, o.id, o.priority, o.run_at FROM open o WHERE o.sequential AND o.database_id IS NOT NULL
            UNION ALL
            SELECT b.database_id, x.id, x.priority, x.run_at
            FROM base b CROSS JOIN moment CROSS JOIN LATERAL rowrun.first_sequential(b.database_id, b.smallest, moment.t) x
            WHERE EXISTS (SELECT FROM task_run r WHERE r.database_id = b.database_id AND r.status = 'PENDING'
                            AND r.version_key IS NULL AND r.sequential)
               OR EXISTS (SELECT FROM task_run r WHERE r.database_id = b.database_id AND r.status = 'PENDING'
                            AND r.version_key = b.smallest AND r.sequential)
        ) s
        ORDER BY s.database_id, s.priority DESC, s.run_at, s.id
    ), passed AS MATERIALIZED (
        SELECT o.*,
               NOT o.busy AND (
                   o.database_id IS NULL
                   OR (o.sequential AND f.id = o.id AND NOT EXISTS (
                           SELECT FROM open e WHERE e.database_id = o.database_id AND NOT e.sequential AND NOT e.busy
                             AND (-e.priority::bigint, e.run_at, e.id) < (-o.priority::bigint, o.run_at, o.id)))
                   OR (NOT o.sequential AND (f.id IS NULL
                           OR (-o.priority::bigint, o.run_at, o.id) < (-f.priority::bigint, f.run_at, f.id)))
               ) AS alone
        FROM open o LEFT JOIN first_sequential f ON f.database_id = o.database_id
    ), ranked AS MATERIALIZED (
        SELECT a.id, a.slots, row_number() OVER (PARTITION BY a.plan_id ORDER BY a.priority DESC, a.run_at, a.id) AS n
        FROM passed a WHERE a.alone
    )
    SELECT array_agg(v.id), array_agg(v.hold), coalesce(array_agg(v.id) FILTER (WHERE v.hold IS NULL), '{}'),
           bool_or(v.hold IS NULL AND v.plan_id IS NOT NULL),
           coalesce(array_agg(DISTINCT v.database_id) FILTER (WHERE v.crowded_out AND v.database_id IS NOT NULL), '{}')
               || coalesce(again_dbs, '{}'),
           array_agg(DISTINCT v.database_id) FILTER (WHERE v.fresh),
           array_agg(DISTINCT v.database_id) FILTER (WHERE v.could_go AND v.hold <> 'DATABASE' AND v.hold IS DISTINCT FROM v.held),
           (SELECT moment.t FROM moment)
    INTO verdict_ids, verdict_holds, open_ids, of_plans, again_dbs, fresh_dbs, freed_dbs, t
    FROM (
        SELECT c.id, c.plan_id, c.database_id, c.held, c.held IS NULL AND c.version_key IS NOT NULL AS fresh,
               c.sequential AND c.database_id IS NOT NULL AND (c.held IS NULL OR c.held IN ('DATABASE', 'READY')) AS could_go,
               CASE WHEN c.gate IS NOT NULL THEN c.gate
                    WHEN NOT c.plan_open OR c.slots <= 0 THEN 'READY'
                    WHEN k.id IS NULL THEN 'DATABASE'
                    WHEN c.plan_id IS NOT NULL AND k.n > k.slots THEN 'READY' END AS hold,
               c.plan_id IS NOT NULL AND k.n > k.slots AS crowded_out
        FROM candidate c LEFT JOIN ranked k ON k.id = c.id
    ) v;

    -- 5. Promote, and note what holds the others.
    IF of_plans THEN
        -- The first run of a round begins it, with the plan's row held; where somebody else holds that, it waits.
        late := rowrun.begin_rounds(open_ids, false);
        IF cardinality(late) > 0 THEN
            open_ids := ARRAY(SELECT o FROM unnest(open_ids) o WHERE o <> ALL (late));
            verdict_holds := ARRAY(SELECT CASE WHEN v.id = ANY (late) THEN 'READY' ELSE v.hold END
                                   FROM unnest(verdict_ids, verdict_holds) WITH ORDINALITY v(id, hold, n) ORDER BY v.n);
            INSERT INTO gate_mark (kind, plan_id) SELECT DISTINCT 'PLAN', r.plan_id FROM task_run r WHERE r.id = ANY (late);
        END IF;
    END IF;
    IF cardinality(open_ids) > 0 THEN
        BEGIN
            WITH changed AS (
                UPDATE task_run r
                SET status = 'AVAILABLE', prev_status = 'PENDING', available_at = t, updated_at = greatest(t, r.updated_at + interval '1 us'), hold = NULL, judge_at = NULL
                WHERE r.id = ANY (open_ids)
                RETURNING r.id, transition(r) AS item
            )
            SELECT promoted + count(*), array_agg(c.id), array_agg(c.item) INTO promoted, changed_ids, items FROM changed c;
            PERFORM announce(items), note_promoted(changed_ids);
        EXCEPTION WHEN unique_violation OR lock_not_available THEN
            -- Somebody made a sequential run of that database AVAILABLE by hand: that costs one run, not the batch.
            FOREACH run IN ARRAY open_ids LOOP
                BEGIN
                    WITH changed AS (
                        UPDATE task_run r
                        SET status = 'AVAILABLE', prev_status = 'PENDING', available_at = t, updated_at = greatest(t, r.updated_at + interval '1 us'), hold = NULL, judge_at = NULL
                        WHERE r.id = run
                        RETURNING r.id, transition(r) AS item
                    )
                    SELECT promoted + count(*), array_agg(c.id), array_agg(c.item) INTO promoted, changed_ids, items FROM changed c;
                    PERFORM announce(items), note_promoted(changed_ids);
                EXCEPTION WHEN unique_violation OR lock_not_available THEN
                    UPDATE task_run r SET hold = 'DATABASE', judge_at = NULL, prev_status = NULL WHERE r.id = run;
                    INSERT INTO gate_mark (kind, run_id) VALUES ('RUN', run);
                END;
            END LOOP;
        END;
    END IF;
    IF 'DEPENDENCY' = ANY (verdict_holds) THEN
        -- Whoever is just ending a task may not have seen that one of these waits for it. Whose tasks can all be locked
        -- is seen by their ends; where one is held, or the verdict is out of date by now, it is judged again.
        part := ARRAY(SELECT r.id FROM unnest(verdict_ids, verdict_holds) v(id, hold) JOIN task_run r ON r.id = v.id
                      WHERE v.hold = 'DEPENDENCY' AND r.hold IS DISTINCT FROM 'DEPENDENCY');
        mark_tasks := ARRAY(SELECT n.id FROM task n
                            WHERE n.id IN (SELECT d.depends_on_id FROM task_run r JOIN unmet_dependency d ON d.task_id = r.task_id
                                           WHERE r.id = ANY (part))
                            ORDER BY n.id FOR SHARE SKIP LOCKED);
        INSERT INTO gate_mark (kind, run_id)
        SELECT 'RUN', r.id FROM task_run r
        WHERE r.id = ANY (part)
          AND (SELECT coalesce(bool_or(d.depends_on_id <> ALL (mark_tasks)), true) FROM unmet_dependency d WHERE d.task_id = r.task_id);
    END IF;
    IF cardinality(open_ids) < cardinality(verdict_ids) THEN
        UPDATE task_run r SET hold = v.hold, judge_at = NULL, prev_status = NULL
        FROM unnest(verdict_ids, verdict_holds) v(id, hold)
        WHERE r.id = v.id AND v.hold NOT IN ('TIME', 'SKIPPED', 'MISSED') AND (r.hold IS DISTINCT FROM v.hold OR r.judge_at IS NOT NULL);
    END IF;
    IF 'TIME' = ANY (verdict_holds) THEN
        UPDATE task_run r SET hold = NULL, judge_at = r.run_at, prev_status = NULL
        FROM unnest(verdict_ids, verdict_holds) v(id, hold)
        WHERE r.id = v.id AND v.hold = 'TIME' AND (r.hold IS NOT NULL OR r.judge_at IS DISTINCT FROM r.run_at);
        -- Their marks had them judged before they are due: this pass is the only one that is sure to be told of their time.
        next_ms := least(next_ms, (SELECT extract(epoch FROM min(r.run_at) - t) * 1000
                                   FROM task_run r JOIN unnest(verdict_ids, verdict_holds) v(id, hold) ON v.id = r.id
                                   WHERE v.hold = 'TIME'));
    END IF;
    IF 'MISSED' = ANY (verdict_holds) THEN
        PERFORM rowrun.skip_missed(ARRAY(SELECT v.id FROM unnest(verdict_ids, verdict_holds) v(id, hold) WHERE v.hold = 'MISSED'));
    END IF;
    IF 'SKIPPED' = ANY (verdict_holds) THEN
        UPDATE task_run r
        SET status = 'CANCELED', cancel_reason = 'task skipped'
        FROM unnest(verdict_ids, verdict_holds) v(id, hold)
        WHERE r.id = v.id AND v.hold = 'SKIPPED';
        more := true; -- their ends have left marks
    END IF;

    -- 6. What this pass itself may have opened or not got round to.
    IF fresh_dbs IS NOT NULL THEN
        -- A version that came may hold a sequential run back, behind which others then needn't wait.
        INSERT INTO gate_mark (kind, database_id)
        SELECT 'DATABASE', d FROM unnest(fresh_dbs) d
        WHERE EXISTS (SELECT FROM task_run w WHERE w.database_id = d AND w.version_key IS NULL AND NOT w.sequential
                      AND w.status = 'PENDING' AND w.hold = 'DATABASE')
          AND EXISTS (SELECT FROM task_run q WHERE q.database_id = d AND q.version_key IS NOT NULL AND q.sequential AND q.status = 'PENDING');
        more := more OR FOUND;
    END IF;
    IF freed_dbs IS NOT NULL THEN
        -- A sequential run that others waited behind, as mutual exclusion alone held it, and that something else holds now.
        INSERT INTO gate_mark (kind, database_id)
        SELECT 'DATABASE', d FROM unnest(freed_dbs) d
        WHERE EXISTS (SELECT FROM task_run w WHERE w.database_id = d AND w.status = 'PENDING' AND w.hold = 'DATABASE');
        more := more OR FOUND;
    END IF;
    IF cardinality(again_dbs) > 0 AND EXISTS (
        SELECT FROM unnest(verdict_ids, verdict_holds) v(id, hold) WHERE v.hold IS DISTINCT FROM 'DATABASE')
    THEN
        INSERT INTO gate_mark (kind, database_id) SELECT DISTINCT 'DATABASE', d FROM unnest(again_dbs) d;
        more := true;
    END IF;
    IF cardinality(plan_runs) > 0 THEN
        INSERT INTO gate_mark (kind, plan_id, wide)
        SELECT 'PLAN', q.plan_id, q.wide
        FROM (SELECT r.plan_id, bool_or(v.hold IS NOT NULL) AS wide
              FROM task_run r JOIN unnest(verdict_ids, verdict_holds) v(id, hold) ON v.id = r.id
              WHERE r.id = ANY (plan_runs) AND v.hold IS DISTINCT FROM 'READY' GROUP BY r.plan_id) q
        CROSS JOIN LATERAL rowrun.plan_room(q.plan_id) room
        WHERE room.open AND room.slots > 0
          AND EXISTS (SELECT FROM task_run r WHERE r.plan_id = q.plan_id AND r.status = 'PENDING' AND r.hold = 'READY');
        more := more OR FOUND;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.promote_runs(boolean, boolean, integer) IS 'Internal: one promote pass, PENDING to AVAILABLE.';
