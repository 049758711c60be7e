-- The gates, as the promotion asks them. One text for all replicas, whatever their version: a rolling upgrade can't
-- have two opinions about a gate. rowrun.waiting() (next migration) explains the same gates to people.

-- What tasks still wait for.
CREATE VIEW rowrun.unmet_dependency WITH (security_invoker = true) AS
SELECT d.task_id, d.depends_on_id
FROM rowrun.task_dependency d JOIN rowrun.task n ON n.id = d.depends_on_id
WHERE NOT n.skipped
  AND (n.outcome IS DISTINCT FROM 'DONE'
       OR EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = n.id AND u.plan_id IS NOT NULL
                  AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING')));
COMMENT ON VIEW rowrun.unmet_dependency IS 'Internal: dependencies on tasks that are neither DONE nor SKIPPED.';

-- Which runs a replica can take, by its lists: the one text of it, for gates, claims and whoever asks why a run waits.
-- payload is the task's; one that names no command is anybody's, who fails it and says why. Inlined where it is called.
CREATE FUNCTION rowrun.fits(type text, database_id text, payload jsonb, databases text[], commands text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN (type NOT IN ('SQL', 'DATABASE_MIGRATE') OR database_id IS NULL OR database_id = ANY (databases))
       AND (type <> 'COMMAND' OR jsonb_typeof(payload -> 'command') IS DISTINCT FROM 'string' OR payload ->> 'command' = ANY (commands));
CREATE FUNCTION rowrun.takes(h rowrun.replica_heartbeat, t timestamptz, queue text, type text, database_id text, payload jsonb) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN h.state = 'ACTIVE' AND h.last_heartbeat + h.lease > t AND queue = ANY (h.queues) AND type = ANY (h.types)
       AND rowrun.fits(type, database_id, payload, h.databases, h.commands);
COMMENT ON FUNCTION rowrun.fits(text, text, jsonb, text[], text[]) IS 'Internal: whether lists of databases and commands cover a run.';
COMMENT ON FUNCTION rowrun.takes(rowrun.replica_heartbeat, timestamptz, text, text, text, jsonb) IS 'Internal: whether a replica is alive and could take a run.';

-- What holds a run that is due by its own task or tick: the one text of skip, pause and missed ticks, for runs with gates and
-- without. Inlined where it is called.
CREATE FUNCTION rowrun.own_cause(k rowrun.task, missed_at timestamptz, t timestamptz) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN k.skipped THEN 'SKIPPED' WHEN k.paused THEN 'PAUSED' WHEN missed_at < t THEN 'MISSED' END;
COMMENT ON FUNCTION rowrun.own_cause(rowrun.task, timestamptz, timestamptz) IS 'Internal: what holds a run by its own task or tick.';

-- The first gate that is closed for a PENDING run, but for those of its plan (limit, pause, STOP) and for mutual
-- exclusion, which need to be asked of all candidates together. NULL: none of them. Inlined where it is called.
CREATE FUNCTION rowrun.closed_gate(r rowrun.task_run, plan_limited boolean, t timestamptz) RETURNS TABLE (gate text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN r.run_at > t THEN 'TIME' ELSE coalesce(rowrun.own_cause(k, r.missed_at, t), CASE
        WHEN r.plan_id IS NOT NULL AND EXISTS (SELECT FROM rowrun.unmet_dependency d WHERE d.task_id = r.task_id) THEN 'DEPENDENCY'
        WHEN r.version_key IS NOT NULL AND (
            EXISTS (SELECT FROM rowrun.task_run u WHERE u.database_id = r.database_id
                    AND u.version_key < r.version_key AND u.status = 'PENDING')
            OR EXISTS (SELECT FROM rowrun.task_run u WHERE u.database_id = r.database_id
                       AND u.version_key < r.version_key AND u.status IN ('AVAILABLE', 'RUNNING'))
        ) THEN 'DATABASE'
        WHEN r.version_key IS NOT NULL AND r.plan_id IS NOT NULL AND EXISTS (
            SELECT FROM rowrun.task f JOIN rowrun.plan p ON p.id = f.plan_id
            WHERE p.id = r.plan_id AND p.on_failure = 'STOP_DATABASE' AND f.database_id = r.database_id
              AND f.version_key < r.version_key AND f.outcome IN ('FAILED', 'CANCELED') AND NOT f.skipped
        ) THEN 'FAILURE'
        WHEN (r.database_id IS NOT NULL OR plan_limited) AND NOT EXISTS (
            SELECT FROM rowrun.replica_heartbeat h WHERE rowrun.takes(h, t, r.queue, r.type, r.database_id, k.payload)
        ) THEN 'REPLICA'
    END) END
    FROM rowrun.task k WHERE k.id = r.task_id;
END;
COMMENT ON FUNCTION rowrun.closed_gate(rowrun.task_run, boolean, timestamptz) IS 'Internal: the first closed gate of a PENDING run, but for its plan and mutual exclusion.';

-- Whether a plan lets runs through at all, and how many more. Inlined where it is called, and evaluated once there
-- whatever is asked of it (OFFSET 0). What is counted is asked for in the order of its index, and by a status that isn't
-- spelled out: with statistics of an empty table any other index looks as good, that of all AVAILABLE runs too.
CREATE FUNCTION rowrun.plan_room(plan_id bigint) RETURNS TABLE (open boolean, slots bigint)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT NOT p.paused AND NOT (p.on_failure = 'STOP' AND EXISTS (
               SELECT FROM rowrun.task f
               WHERE f.plan_id = p.id AND f.outcome = 'FAILED' AND NOT f.skipped
                 AND (SELECT u.id FROM rowrun.task_run u WHERE u.task_id = f.id AND u.plan_id IS NOT NULL
                      AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING') LIMIT 1) IS NULL)),
           CASE WHEN p.parallel_limit IS NULL THEN 1000000000
                ELSE greatest(p.parallel_limit
                              - (SELECT count(*) FROM unnest('{AVAILABLE,RUNNING}'::text[]) w(status)
                                 CROSS JOIN LATERAL (SELECT FROM rowrun.task_run a
                                                     WHERE a.plan_id = p.id AND a.status = w.status AND a.status IN ('AVAILABLE', 'RUNNING')
                                                     ORDER BY a.id OFFSET 0) a), 0) END
    FROM rowrun.plan p WHERE p.id = plan_room.plan_id OFFSET 0;
END;
COMMENT ON FUNCTION rowrun.plan_room(bigint) IS 'Internal: whether a plan lets runs through, and how many more.';

-- Whether every gate of a run is open but for mutual exclusion.
CREATE FUNCTION rowrun.sequential_open(run_id bigint, t timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RETURN (SELECT g.gate IS NULL AND coalesce(room.open AND room.slots > 0, true)
            FROM rowrun.task_run r
            CROSS JOIN LATERAL rowrun.closed_gate(r, false, t) g
            LEFT JOIN LATERAL rowrun.plan_room(r.plan_id) room ON true
            WHERE r.id = sequential_open.run_id);
END $$;
COMMENT ON FUNCTION rowrun.sequential_open(bigint, timestamptz) IS 'Internal: whether mutual exclusion alone may hold a run.';

-- Of a database the first sequential PENDING run that mutual exclusion alone holds. A function of its own, and not in
-- plain SQL, because its text would be part of the judgement otherwise, which has it started up for each pass: a third of
-- what a pass takes for one run. It is called where there is a sequential run at all. Gates are asked one run after the
-- other, in the order of the index, and the first that is open ends it: asked in one statement with its LIMIT, the
-- planner has thousands asked, and sorts them. A run that isn't judged yet and not due is none of them. The arguments
-- of a call share a collation, here that of versions: with it no index on database_id would do.
CREATE FUNCTION rowrun.first_sequential(database_id text, smallest text, t timestamptz)
    RETURNS TABLE (id bigint, priority integer, run_at timestamptz)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    c record;
BEGIN
    FOR c IN
        SELECT r.id, r.priority, r.run_at FROM rowrun.task_run r
        WHERE r.database_id = (first_sequential.database_id COLLATE "default") AND r.version_key IS NULL AND r.sequential AND r.status = 'PENDING'
          AND (r.hold IS NULL OR r.hold IN ('DATABASE', 'READY')) AND r.run_at <= t
        ORDER BY r.database_id, r.version_key, r.sequential, r.priority DESC, r.run_at, r.id
    LOOP
        IF rowrun.sequential_open(c.id, t) THEN
            RETURN QUERY SELECT c.id, c.priority, c.run_at;
            EXIT;
        END IF;
    END LOOP;
    IF smallest IS NULL THEN
        RETURN;
    END IF;
    FOR c IN
        SELECT r.id, r.priority, r.run_at FROM rowrun.task_run r
        WHERE r.database_id = (first_sequential.database_id COLLATE "default") AND r.version_key = first_sequential.smallest AND r.sequential AND r.status = 'PENDING'
          AND (r.hold IS NULL OR r.hold IN ('DATABASE', 'READY')) AND r.run_at <= t
        ORDER BY r.database_id, r.version_key, r.sequential, r.priority DESC, r.run_at, r.id
    LOOP
        IF rowrun.sequential_open(c.id, t) THEN
            RETURN QUERY SELECT c.id, c.priority, c.run_at;
            EXIT;
        END IF;
    END LOOP;
END $$;
COMMENT ON FUNCTION rowrun.first_sequential(text, text, timestamptz) IS 'Internal: the first sequential run of a database that mutual exclusion alone holds.';

-- What the transaction has promoted so far, so that its next statement can claim it without a search; more than a
-- hundred at once aren't noted. The transaction's id stands before them: what a role or a database has set is no note.
CREATE FUNCTION rowrun.promoted_now() RETURNS bigint[] LANGUAGE sql STABLE
    RETURN CASE WHEN split_part(current_setting('rowrun.promoted', true), ' ', 1) = pg_current_xact_id_if_assigned()::text
                THEN split_part(current_setting('rowrun.promoted', true), ' ', 2)::bigint[] ELSE '{}' END;
CREATE FUNCTION rowrun.note_promoted(ids bigint[]) RETURNS text LANGUAGE sql VOLATILE
    RETURN CASE WHEN cardinality(ids) <= 100
                THEN set_config('rowrun.promoted', pg_current_xact_id()::text || ' ' || (rowrun.promoted_now() || ids)::text, true) END;
COMMENT ON FUNCTION rowrun.promoted_now() IS 'Internal: what the transaction has promoted so far.';
COMMENT ON FUNCTION rowrun.note_promoted(bigint[]) IS 'Internal: notes what was promoted, for the claim in the same transaction.';

-- Who holds this row is the one who judges. A row, because what locks it needs the right to update it: anybody may take
-- an advisory lock on any key, and keep it. It is never written: a lock leaves no version behind.
CREATE TABLE rowrun.promotion_lock (
    id smallint PRIMARY KEY CHECK (id = 1)
);
COMMENT ON TABLE rowrun.promotion_lock IS 'Internal: one row; who holds its lock judges the gates.';
COMMENT ON COLUMN rowrun.promotion_lock.id IS 'Key, 1.';
INSERT INTO rowrun.promotion_lock VALUES (1);

-- One promote pass: PENDING -> AVAILABLE for what has every gate open. Returns how many were promoted, whether another
-- replica was at it (look again in some ms), whether there is more to do now, and how many ms until the next run_at.
-- "most" is how many runs and marks it takes on at once: a replica whose pass took longer than its statements may asks
-- for fewer, because the same pass would fail again, for ever. Lists are read as far as ever and cut then: a limit that
-- the planner doesn't know would have it choose other indexes.
--
-- Runs without plan and database have no gate to be exact about: any number of replicas promotes them side by side,
-- SKIP LOCKED. All others are judged under one lock (rowrun.promotion_lock), held by this one statement's transaction: what it
-- counts can then only fall behind the truth by runs that end, which opens gates and closes none. Each inner statement
-- has a snapshot of its own, taken after the lock: the steps are VOLATILE functions in PL/pgSQL for that.
--
-- The settings hold for the steps too. A step is an assignment, because the same call in a FROM takes twice as long. Where
-- a step only reads, its text is a function in SQL that becomes part of the step's statement: it must not be VOLATILE, nor
-- bring settings.
--
-- Where rows are named by id, status is asked as coalesce(status, ''): otherwise a partial index on that status, empty
-- when the statistics were made, looks cheaper than the key, and each of its rows is compared with each id. The same
-- goes for plan_id IS NOT NULL.
CREATE FUNCTION rowrun.promote_runs(sweep boolean DEFAULT false, free boolean DEFAULT true, most integer DEFAULT 1000,
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
    marked boolean;
    due boolean;
    marks record;
    found_runs record;
    verdicts record;
    step record;
BEGIN
    promoted := 0;
    busy := false;
    more := false;
    IF free THEN -- unless a statement of the same transaction has just looked for them
        step := promote_ungated(t, most);
        promoted := step.promoted;
        more := step.more;
    END IF;
    SELECT a.next_ms, a.marked, a.due INTO next_ms, marked, due FROM asked_for(t) a;
    IF NOT (sweep OR marked OR due) THEN
        RETURN;
    END IF;
    PERFORM FROM promotion_lock l WHERE l.id = 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        busy := true;
        IF sweep THEN -- the row may be missing, after a restore of parts
            INSERT INTO promotion_lock (id) VALUES (1) ON CONFLICT DO NOTHING;
        END IF;
        RETURN;
    END IF;
    marks := take_marks(sweep, most);
    found_runs := candidates(marks, due, most);
    more := more OR marks.more OR found_runs.more;
    IF cardinality(found_runs.ids) > 0 THEN
        verdicts := verdicts_on(found_runs.ids);
        step := apply_verdicts(verdicts);
        promoted := promoted + step.promoted;
        next_ms := least(next_ms, step.next_ms);
        more := leave_marks(verdicts, found_runs.of_plans, found_runs.cut_off) OR more;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.promote_runs(boolean, boolean, integer) IS 'Internal: one promote pass, PENDING to AVAILABLE.';

-- The transition PENDING -> AVAILABLE, for all passes: of runs that the caller holds, and whose gates were open at t. What
-- was promoted is announced, and noted for the claim. A run isn't AVAILABLE before it is due: some of those without gates
-- may have been inserted after t.
-- Whoever calls it first in a session has its plan made: the settings are its own.
CREATE FUNCTION rowrun.make_available(run_ids bigint[], t timestamptz) RETURNS bigint[] LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
AS $$
DECLARE
    ids bigint[];
    items text[];
BEGIN
    WITH changed AS (
        UPDATE task_run r
        SET status = 'AVAILABLE', prev_status = 'PENDING', available_at = greatest(t, r.run_at),
            updated_at = greatest(t, r.updated_at + interval '1 us'), hold = NULL, judge_at = NULL
        WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING'
        RETURNING r.id, transition(r) AS item
    )
    SELECT coalesce(array_agg(c.id), '{}'), array_agg(c.item) INTO ids, items FROM changed c;
    PERFORM announce(items), note_promoted(ids);
    RETURN ids;
END $$;
COMMENT ON FUNCTION rowrun.make_available(bigint[], timestamptz) IS 'Internal: the transition PENDING to AVAILABLE; the runs that took it.';

-- The same where some are sequential runs of databases: somebody may have made another run there AVAILABLE by hand, or be
-- at it. That costs one run, not the batch.
CREATE FUNCTION rowrun.make_available_singly(run_ids bigint[], t timestamptz) RETURNS bigint[] LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    ids bigint[] := '{}';
    run bigint;
BEGIN
    BEGIN
        RETURN make_available(run_ids, t);
    EXCEPTION WHEN unique_violation OR lock_not_available THEN
        IF cardinality(run_ids) = 1 THEN
            PERFORM hold_runs(run_ids, '{DATABASE}');
            INSERT INTO gate_mark (kind, run_id) VALUES ('RUN', run_ids[1]);
            RETURN '{}';
        END IF;
    END;
    FOREACH run IN ARRAY run_ids LOOP
        ids := ids || make_available_singly(ARRAY[run], t);
    END LOOP;
    RETURN ids;
END $$;
COMMENT ON FUNCTION rowrun.make_available_singly(bigint[], timestamptz) IS 'Internal: PENDING to AVAILABLE, one by one where that fails for all.';

-- Writes what holds PENDING runs that the caller holds, where that isn't what their rows say.
CREATE FUNCTION rowrun.hold_runs(run_ids bigint[], holds text[]) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    UPDATE task_run r SET hold = v.hold, judge_at = NULL, prev_status = NULL
    FROM unnest(run_ids, holds) v(id, hold)
    WHERE r.id = v.id AND v.hold NOT IN ('TIME', 'SKIPPED', 'MISSED') AND (r.hold IS DISTINCT FROM v.hold OR r.judge_at IS NOT NULL);
    IF 'TIME' = ANY (holds) THEN
        UPDATE task_run r SET hold = NULL, judge_at = r.run_at, prev_status = NULL
        FROM unnest(run_ids, holds) v(id, hold)
        WHERE r.id = v.id AND v.hold = 'TIME' AND (r.hold IS NOT NULL OR r.judge_at IS DISTINCT FROM r.run_at);
    END IF;
    IF 'MISSED' = ANY (holds) THEN
        PERFORM rowrun.skip_missed(ARRAY(SELECT v.id FROM unnest(run_ids, holds) v(id, hold) WHERE v.hold = 'MISSED'));
    END IF;
    IF 'SKIPPED' = ANY (holds) THEN
        UPDATE task_run r
        SET status = 'CANCELED', cancel_reason = 'task skipped'
        FROM unnest(run_ids, holds) v(id, hold)
        WHERE r.id = v.id AND v.hold = 'SKIPPED';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.hold_runs(bigint[], text[]) IS 'Internal: writes what holds PENDING runs.';

-- Runs that only time and their own task may hold.
CREATE FUNCTION rowrun.promote_ungated(t timestamptz, most integer, OUT promoted integer, OUT more boolean) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    ids bigint[];
    closed bigint[];
    causes text[];
BEGIN
    ids := ARRAY(SELECT r.id FROM task_run r
                 WHERE r.status = 'PENDING' AND r.hold = 'READY' AND r.plan_id IS NULL
                 ORDER BY r.plan_id, r.priority DESC, r.run_at, r.id LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED)
        || ARRAY(SELECT r.id FROM task_run r
                 WHERE r.judge_at <= t AND r.plan_id IS NULL AND r.database_id IS NULL AND r.status = 'PENDING'
                 ORDER BY r.judge_at LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED);
    promoted := 0;
    more := cardinality(ids) > 0 AND cardinality(ids) >= least(most, 1000);
    IF cardinality(ids) = 0 THEN
        RETURN;
    END IF;
    ids := ids[1:2 * most];
    promoted := cardinality(make_available(ARRAY(
        SELECT r.id FROM task_run r JOIN task k ON k.id = r.task_id
        WHERE r.id = ANY (ids) AND rowrun.own_cause(k, r.missed_at, t) IS NULL), t));
    IF promoted < cardinality(ids) THEN
        -- The lock on the task orders this against the user who unpauses it: either its mark is seen later, or the task is
        -- not paused any more.
        PERFORM FROM task k WHERE k.id IN (SELECT r.task_id FROM task_run r WHERE r.id = ANY (ids) AND coalesce(r.status, '') = 'PENDING')
        ORDER BY k.id FOR SHARE SKIP LOCKED;
        SELECT array_agg(c.id), array_agg(c.cause) INTO closed, causes
        FROM (SELECT r.id, rowrun.own_cause(k, r.missed_at, t) AS cause FROM task_run r JOIN task k ON k.id = r.task_id
              WHERE r.id = ANY (ids) AND coalesce(r.status, '') = 'PENDING') c
        WHERE c.cause IS NOT NULL;
        PERFORM hold_runs(closed, causes);
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.promote_ungated(timestamptz, integer) IS 'Internal: promotes runs without plan and database.';

-- When the next run is due, whoever inserts an earlier one says so; and whether anything asks for a judgement: marks, or
-- runs with gates that are due.
CREATE FUNCTION rowrun.asked_for(t timestamptz) RETURNS TABLE (next_ms double precision, marked boolean, due boolean)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT extract(epoch FROM least(
               (SELECT r.judge_at FROM rowrun.task_run r
                WHERE r.judge_at > asked_for.t AND r.plan_id IS NULL AND r.database_id IS NULL ORDER BY r.judge_at LIMIT 1),
               (SELECT r.judge_at FROM rowrun.task_run r
                WHERE r.judge_at > asked_for.t AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL) ORDER BY r.judge_at LIMIT 1))
               - asked_for.t) * 1000,
           EXISTS (SELECT FROM rowrun.gate_mark),
           EXISTS (SELECT FROM rowrun.task_run r WHERE r.judge_at <= asked_for.t AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL));
END;
COMMENT ON FUNCTION rowrun.asked_for(timestamptz) IS 'Internal: what asks for a judgement, and when the next run is due.';

-- The marks, and what they say must be looked at; with a sweep also what has lost its mark.
CREATE FUNCTION rowrun.take_marks(sweep boolean, most integer, OUT runs bigint[], OUT databases text[], OUT plans bigint[],
    OUT wide bigint[], OUT dependents bigint[], OUT tasks bigint[], OUT paused bigint[], OUT failures jsonb, OUT replicas boolean,
    OUT more boolean) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    taken integer;
    gates bigint[];
    gate_dbs text[];
    rounds jsonb;
BEGIN
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
    INTO taken, runs, databases, plans, gates, wide, dependents, tasks, paused, failures, replicas, rounds
    FROM taken k;
    more := taken = most;
    IF sweep OR cardinality(plans) > 0 THEN
        PERFORM rowrun.settle_plans(plans, rounds, sweep);
    END IF;
    IF cardinality(gates) > 0 THEN
        -- The sequential runs of these plans hold others back on their databases, or no more.
        gate_dbs := ARRAY(SELECT DISTINCT k.database_id FROM task k
                          WHERE k.plan_id = ANY (gates) AND k.database_id IS NOT NULL AND k.outcome IS DISTINCT FROM 'DONE'
                            AND k.database_id <> ALL (databases));
        databases := databases || gate_dbs[1:most];
        IF cardinality(gate_dbs) > most THEN
            INSERT INTO gate_mark (kind, database_id) SELECT 'DATABASE', unnest(gate_dbs[most + 1:]);
            more := true;
        END IF;
    END IF;
    IF sweep THEN
        databases := databases || ARRAY(SELECT o.database_id FROM rowrun.overlooked_databases(databases) o ORDER BY random() LIMIT 2 * most);
        plans := plans || ARRAY(SELECT o.plan_id FROM rowrun.overlooked_plans(plans) o ORDER BY random() LIMIT 2 * most);
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.take_marks(boolean, integer) IS 'Internal: takes the marks of a pass.';

-- The safety net: databases on which something waits and nothing is active, plans with runs that are ready.
CREATE FUNCTION rowrun.overlooked_databases(known text[]) RETURNS TABLE (database_id text) LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH RECURSIVE d AS (
        (SELECT r.database_id FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.hold = 'DATABASE' ORDER BY r.database_id LIMIT 1)
        UNION ALL
        SELECT (SELECT r.database_id FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.hold = 'DATABASE'
                  AND r.database_id > d.database_id ORDER BY r.database_id LIMIT 1)
        FROM d WHERE d.database_id IS NOT NULL
    )
    SELECT d.database_id FROM d
    WHERE d.database_id IS NOT NULL AND d.database_id <> ALL (overlooked_databases.known)
      AND NOT EXISTS (SELECT FROM rowrun.task_run a WHERE a.database_id = d.database_id AND a.status IN ('AVAILABLE', 'RUNNING'));
END;
CREATE FUNCTION rowrun.overlooked_plans(known bigint[]) RETURNS TABLE (plan_id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH RECURSIVE p AS (
        (SELECT r.plan_id FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.hold = 'READY' AND r.plan_id > 0 ORDER BY r.plan_id LIMIT 1)
        UNION ALL
        SELECT (SELECT r.plan_id FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.hold = 'READY'
                  AND r.plan_id > p.plan_id ORDER BY r.plan_id LIMIT 1)
        FROM p WHERE p.plan_id IS NOT NULL
    )
    SELECT p.plan_id FROM p WHERE p.plan_id IS NOT NULL AND p.plan_id <> ALL (overlooked_plans.known);
END;
COMMENT ON FUNCTION rowrun.overlooked_databases(text[]) IS 'Internal: other databases on which runs wait for nobody.';
COMMENT ON FUNCTION rowrun.overlooked_plans(bigint[]) IS 'Internal: other plans with runs that are ready.';

-- Whom to judge: what is due, and what marks name. Every list is bounded; where a bound is met, the rest keeps its mark.
-- of_plans are those that were found by their plan, cut_off the databases whose list met its bound.
CREATE FUNCTION rowrun.candidates(marks record, due boolean, most integer,
    OUT ids bigint[], OUT of_plans bigint[], OUT cut_off text[], OUT more boolean) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz := clock_timestamp();
    bound integer := least(2 * most, 2000);
    plans bigint[] := marks.plans;
    part bigint[] := '{}';
BEGIN
    more := false;
    IF due THEN
        part := ARRAY(SELECT r.id FROM task_run r
                      WHERE r.judge_at <= t AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
                      ORDER BY r.judge_at LIMIT 1000);
        part := part[1:most];
        more := cardinality(part) >= least(most, 1000);
        -- Their plans are looked at too: a retry may have ended a STOP.
        SELECT coalesce(array_agg(DISTINCT q.plan_id), '{}') INTO plans
        FROM (SELECT unnest(plans) AS plan_id
              UNION SELECT r.plan_id FROM task_run r WHERE r.id = ANY (part) AND num_nonnulls(r.plan_id) = 1) q;
    END IF;
    ids := part || marks.runs;
    IF cardinality(marks.databases) > 0 THEN
        SELECT ids || coalesce(array_agg(w.id), '{}'), array_agg(DISTINCT w.database_id) FILTER (WHERE w.n = least(most, 200))
        INTO ids, cut_off FROM waiting_on_databases(marks.databases) w WHERE w.n <= most;
    END IF;
    IF cardinality(marks.dependents) > 0 THEN
        ids := ids || ARRAY(SELECT w.id FROM waiting_of_tasks(marks.dependents) w);
    END IF;
    IF cardinality(marks.tasks) > 0 THEN
        part := ARRAY(SELECT w.id FROM waiting_for_tasks(marks.tasks) w);
        ids := ids || part[1:bound];
        IF cardinality(part) >= bound THEN
            INSERT INTO gate_mark (kind, task_id) SELECT 'TASK', unnest(marks.tasks);
            more := true;
        END IF;
    END IF;
    IF cardinality(marks.paused) > 0 THEN
        part := ARRAY(SELECT r.id FROM task_run r JOIN task k ON k.id = r.task_id
                      WHERE r.task_id = ANY (marks.paused) AND r.status = 'PENDING' AND r.hold = 'PAUSED' AND NOT k.paused
                      LIMIT 2000);
        ids := ids || part[1:bound];
        IF cardinality(part) >= bound THEN
            INSERT INTO gate_mark (kind, task_id) SELECT 'PAUSE', unnest(marks.paused);
            more := true;
        END IF;
    END IF;
    IF marks.failures IS NOT NULL THEN
        part := ARRAY(SELECT w.id FROM waiting_for_mends(marks.failures) w);
        ids := ids || part[1:bound];
        IF cardinality(part) >= bound THEN
            INSERT INTO gate_mark (kind, plan_id, database_id)
            SELECT 'FAILURE', f.plan_id, f.database_id FROM jsonb_to_recordset(marks.failures) AS f(plan_id bigint, database_id text);
            more := true;
        END IF;
    END IF;
    IF marks.replicas THEN
        part := ARRAY(SELECT w.id FROM waiting_for_replicas(t) w);
        ids := ids || part[1:bound];
        IF cardinality(part) >= bound THEN
            INSERT INTO gate_mark (kind) VALUES ('REPLICA');
            more := true;
        END IF;
    END IF;
    IF cardinality(plans) > 0 THEN
        of_plans := ARRAY(SELECT w.id FROM waiting_of_plans(plans, marks.wide, most) w);
        ids := ids || of_plans;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.candidates(record, boolean, integer) IS 'Internal: the runs that a pass judges.';

-- The smallest unfinished version of a database. Inlined where it is called, like the lists of candidates below.
CREATE FUNCTION rowrun.smallest_version(database_id text) RETURNS TABLE (version_key text) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT least(
        (SELECT r.version_key FROM rowrun.task_run r WHERE r.database_id = smallest_version.database_id AND r.status = 'PENDING'
           AND r.version_key IS NOT NULL ORDER BY r.version_key LIMIT 1),
        (SELECT r.version_key FROM rowrun.task_run r WHERE r.database_id = smallest_version.database_id AND r.status IN ('AVAILABLE', 'RUNNING')
           AND r.version_key IS NOT NULL ORDER BY r.version_key LIMIT 1));
END;
COMMENT ON FUNCTION rowrun.smallest_version(text) IS 'Internal: the smallest unfinished version of a database.';

-- Of each database those that the order lets through: without a version, or of the smallest unfinished one, each the n-th
-- of its list. Behind a sequential run nothing starts, so that some of these end the list. Where something else holds
-- them now, they are passed over, and their database keeps a mark (freed).
CREATE FUNCTION rowrun.waiting_on_databases(databases text[]) RETURNS TABLE (id bigint, database_id text, n bigint)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT c.id, c.database_id, c.n
    FROM unnest(waiting_on_databases.databases) d(database_id)
    CROSS JOIN LATERAL rowrun.smallest_version(d.database_id) m
    CROSS JOIN LATERAL (
        SELECT x.id, d.database_id, row_number() OVER () AS n,
               count(*) FILTER (WHERE x.sequential) OVER (ROWS UNBOUNDED PRECEDING) - x.sequential::int AS before FROM (
            SELECT r.id, r.sequential FROM rowrun.task_run r
            WHERE r.status = 'PENDING' AND r.hold = 'DATABASE' AND r.database_id = d.database_id AND r.version_key IS NULL
            ORDER BY r.version_key, r.priority DESC, r.run_at, r.id LIMIT 200) x
        UNION ALL
        SELECT x.id, d.database_id, row_number() OVER () AS n,
               count(*) FILTER (WHERE x.sequential) OVER (ROWS UNBOUNDED PRECEDING) - x.sequential::int AS before FROM (
            SELECT r.id, r.sequential FROM rowrun.task_run r
            WHERE r.status = 'PENDING' AND r.hold = 'DATABASE' AND r.database_id = d.database_id AND r.version_key = m.version_key
            ORDER BY r.priority DESC, r.run_at, r.id LIMIT 200) x
    ) c
    WHERE c.before < 5;
END;
COMMENT ON FUNCTION rowrun.waiting_on_databases(text[]) IS 'Internal: runs that the order of their database lets through.';

CREATE FUNCTION rowrun.waiting_of_tasks(task_ids bigint[]) RETURNS TABLE (id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT u.id FROM unnest(waiting_of_tasks.task_ids) w(task_id)
    CROSS JOIN LATERAL (
        SELECT x.id, x.status FROM rowrun.task_run x
        WHERE x.task_id = w.task_id AND x.plan_id IS NOT NULL AND x.status IN ('PENDING', 'AVAILABLE', 'RUNNING') LIMIT 1) u
    WHERE coalesce(u.status, '') = 'PENDING';
END;
COMMENT ON FUNCTION rowrun.waiting_of_tasks(bigint[]) IS 'Internal: the PENDING runs of tasks of plans.';

-- Dependents whose every dependency is met now, asked of each (OFFSET 0): a join would read all dependencies there are.
CREATE FUNCTION rowrun.waiting_for_tasks(task_ids bigint[]) RETURNS TABLE (id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT r.id
    FROM (SELECT DISTINCT e.task_id FROM rowrun.task_dependency e WHERE e.depends_on_id = ANY (waiting_for_tasks.task_ids)) w
    CROSS JOIN LATERAL (
        SELECT u.id, u.hold FROM rowrun.task_run u
        WHERE u.task_id = w.task_id AND u.plan_id IS NOT NULL
          AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND coalesce(u.status, '') = 'PENDING' LIMIT 1) r
    WHERE (r.hold = 'DEPENDENCY' OR r.hold IS NULL)
      AND NOT EXISTS (SELECT FROM rowrun.unmet_dependency d WHERE d.task_id = w.task_id OFFSET 0)
    LIMIT 2000;
END;
COMMENT ON FUNCTION rowrun.waiting_for_tasks(bigint[]) IS 'Internal: runs that waited for these tasks, and for none any more.';

CREATE FUNCTION rowrun.waiting_for_mends(failures jsonb) RETURNS TABLE (id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT r.id FROM jsonb_to_recordset(waiting_for_mends.failures) AS f(plan_id bigint, database_id text)
    JOIN rowrun.task_run r ON r.plan_id = f.plan_id AND r.database_id = f.database_id
    WHERE r.status = 'PENDING' AND r.hold = 'FAILURE'
      AND NOT EXISTS (SELECT FROM rowrun.task x JOIN rowrun.plan p ON p.id = x.plan_id
                      WHERE x.plan_id = r.plan_id AND x.database_id = r.database_id
                        AND p.on_failure = 'STOP_DATABASE' AND x.version_key < r.version_key
                        AND x.outcome IN ('FAILED', 'CANCELED') AND NOT x.skipped)
    LIMIT 2000;
END;
COMMENT ON FUNCTION rowrun.waiting_for_mends(jsonb) IS 'Internal: runs that a failed version held on these databases of plans, and none any more.';

-- By kind first: a million runs that nobody can take cost a few looks.
CREATE FUNCTION rowrun.waiting_for_replicas(t timestamptz) RETURNS TABLE (id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH RECURSIVE kinds AS (
        (SELECT r.queue, r.type, coalesce(r.database_id, '') AS database_id, r.database_id IS NULL AS none
         FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' ORDER BY r.queue, r.type, r.database_id LIMIT 1)
        UNION ALL
        SELECT n.queue, n.type, coalesce(n.database_id, ''), n.database_id IS NULL
        FROM kinds k
        CROSS JOIN LATERAL (
            (SELECT r.queue, r.type, r.database_id FROM rowrun.task_run r
             WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' AND NOT k.none
               AND r.queue = k.queue AND r.type = k.type AND r.database_id > k.database_id
             ORDER BY r.queue, r.type, r.database_id LIMIT 1)
            UNION ALL
            (SELECT r.queue, r.type, r.database_id FROM rowrun.task_run r
             WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' AND NOT k.none
               AND r.queue = k.queue AND r.type = k.type AND r.database_id IS NULL
             ORDER BY r.queue, r.type, r.database_id LIMIT 1)
            UNION ALL
            (SELECT r.queue, r.type, r.database_id FROM rowrun.task_run r
             WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' AND (r.queue, r.type) > (k.queue, k.type)
             ORDER BY r.queue, r.type, r.database_id LIMIT 1)
            LIMIT 1
        ) n
    ), fitting AS MATERIALIZED (
        SELECT k.queue, k.type, k.database_id, k.none FROM kinds k
        WHERE EXISTS (SELECT FROM rowrun.replica_heartbeat h
                      WHERE rowrun.takes(h, waiting_for_replicas.t, k.queue, k.type, CASE WHEN NOT k.none THEN k.database_id END, NULL))
    )
    SELECT r.id FROM fitting f
    CROSS JOIN LATERAL (
        SELECT q.id, q.queue, q.type, q.database_id, q.task_id FROM rowrun.task_run q WHERE q.status = 'PENDING' AND q.hold = 'REPLICA'
           AND q.queue = f.queue AND q.type = f.type AND NOT f.none AND q.database_id = f.database_id
        UNION ALL
        SELECT q.id, q.queue, q.type, q.database_id, q.task_id FROM rowrun.task_run q WHERE q.status = 'PENDING' AND q.hold = 'REPLICA'
           AND q.queue = f.queue AND q.type = f.type AND f.none AND q.database_id IS NULL
    ) r
    JOIN rowrun.task k ON k.id = r.task_id
    WHERE r.type <> 'COMMAND'
       OR EXISTS (SELECT FROM rowrun.replica_heartbeat h WHERE rowrun.takes(h, waiting_for_replicas.t, r.queue, r.type, r.database_id, k.payload))
    LIMIT 2000;
END;
COMMENT ON FUNCTION rowrun.waiting_for_replicas(timestamptz) IS 'Internal: runs that no replica could take, and one can now.';

-- As many as a plan has room for, or as the pass takes on where the mark asked for a wider look.
CREATE FUNCTION rowrun.waiting_of_plans(plan_ids bigint[], wide bigint[], most integer) RETURNS TABLE (id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT x.id FROM unnest(waiting_of_plans.plan_ids) p(id)
    CROSS JOIN LATERAL rowrun.plan_room(p.id) room
    CROSS JOIN LATERAL (
        SELECT r.id FROM rowrun.task_run r WHERE r.plan_id = p.id AND r.status = 'PENDING' AND r.hold = 'READY'
        ORDER BY r.priority DESC, r.run_at, r.id
        LIMIT CASE WHEN p.id = ANY (waiting_of_plans.wide) THEN waiting_of_plans.most ELSE least(room.slots, waiting_of_plans.most) END) x
    WHERE room.open AND room.slots > 0;
END;
COMMENT ON FUNCTION rowrun.waiting_of_plans(bigint[], bigint[], integer) IS 'Internal: runs for which their plans have room.';

-- The judgement: for each of these PENDING runs what holds it at its moment, or NULL. It writes nothing, and holds nothing:
-- under the lock of the passes the caller does, and has locked the rows. plan_ids are the plans of these runs. The moment is t,
-- or that of a later end, whose mark is behind last_mark: the times would otherwise suggest that more ran at once than did.
--
-- Gates are asked in this order: those of rowrun.closed_gate, the plan's, mutual exclusion with what is active, mutual
-- exclusion among those judged together and with what waits, the plan's limit among those judged together.
--
-- crowded_out: its plan had room, but for others. fresh: a version that is looked at for the first time. freed: others
-- may have waited behind it that needn't now. exclusive: sequential on a database.
-- Inlined where it is called.
CREATE FUNCTION rowrun.judge(run_ids bigint[], plan_ids bigint[], t timestamptz, last_mark bigint)
    RETURNS TABLE (id bigint, hold text, plan_id bigint, database_id text, exclusive boolean, crowded_out boolean, fresh boolean, freed boolean,
                   judged_at timestamptz)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH moment AS MATERIALIZED (
        SELECT greatest(judge.t, (SELECT max(m.at) FROM rowrun.gate_mark m WHERE m.id > judge.last_mark)) AS t
    ), room AS MATERIALIZED (
        -- Taken for many, so that they are hashed: as many plans as runs would be compared each with each.
        SELECT l.id AS plan_id, p.open, p.slots, l.parallel_limit IS NOT NULL AS limited
        FROM generate_subscripts(judge.plan_ids, 1) n
        CROSS JOIN LATERAL (SELECT l.id, l.parallel_limit FROM rowrun.plan l WHERE l.id = judge.plan_ids[n] OFFSET 0) l
        CROSS JOIN LATERAL rowrun.plan_room(l.id) p
    ), candidate AS MATERIALIZED (
        SELECT r.id, r.plan_id, r.database_id, r.version_key, r.sequential, r.priority, r.run_at, r.hold AS held,
               coalesce(p.open, true) AS plan_open, coalesce(p.slots, 1) AS slots, g.gate
        FROM rowrun.task_run r
        LEFT JOIN room p ON p.plan_id = r.plan_id
        CROSS JOIN moment
        CROSS JOIN LATERAL rowrun.closed_gate(r, coalesce(p.limited, false), moment.t) g
        WHERE r.id = ANY (judge.run_ids)
    ), target AS MATERIALIZED (
        -- What is AVAILABLE or RUNNING there: asked once, because with an old snapshot each answer passes by all that ended.
        SELECT d.database_id,
               CASE WHEN d.sequential THEN EXISTS (SELECT FROM rowrun.task_run a WHERE a.database_id = d.database_id
                                                   AND a.status IN ('AVAILABLE', 'RUNNING')) END AS active,
               CASE WHEN d.others THEN EXISTS (SELECT FROM rowrun.task_run a WHERE a.database_id = d.database_id AND a.sequential
                                               AND a.status IN ('AVAILABLE', 'RUNNING')) END AS active_sequential
        FROM (SELECT c.database_id, bool_or(c.sequential) AS sequential, bool_or(NOT c.sequential) AS others
              FROM candidate c WHERE c.gate IS NULL AND c.plan_open AND c.slots > 0 AND c.database_id IS NOT NULL GROUP BY 1) d
    ), open AS MATERIALIZED (
        -- Mutual exclusion with that. Each database is that of a candidate, so that FULL finds no more than LEFT; but it is
        -- never done as a loop, which the planner takes for few, and which compares each of a thousand with each.
        SELECT c.*, coalesce(CASE WHEN c.sequential THEN d.active ELSE d.active_sequential END, false) AS busy
        FROM (SELECT * FROM candidate c WHERE c.gate IS NULL AND c.plan_open AND c.slots > 0) c
        FULL JOIN target d ON d.database_id = c.database_id
    ), base AS MATERIALIZED (
        -- A run whose gates are open has the smallest version there is.
        SELECT d.database_id, coalesce(d.version_key, s.version_key) AS smallest
        FROM (SELECT o.database_id, min(o.version_key) AS version_key FROM open o WHERE o.database_id IS NOT NULL GROUP BY 1) d
        CROSS JOIN LATERAL rowrun.smallest_version(d.database_id) s
    ), first_sequential AS MATERIALIZED (
        -- Of each database the first sequential run that mutual exclusion alone holds, candidate or not: the runs
        -- that come later in the order wait behind it.
        SELECT DISTINCT ON (s.database_id) s.database_id, s.id, s.priority, s.run_at
        FROM (
            SELECT o.database_id, o.id, o.priority, o.run_at FROM open o WHERE o.sequential AND o.database_id IS NOT NULL
            UNION ALL
            SELECT b.database_id, x.id, x.priority, x.run_at
            FROM base b CROSS JOIN moment CROSS JOIN LATERAL rowrun.first_sequential(b.database_id, b.smallest, moment.t) x
            WHERE EXISTS (SELECT FROM rowrun.task_run r WHERE r.database_id = b.database_id AND r.status = 'PENDING'
                            AND r.version_key IS NULL AND r.sequential)
               OR EXISTS (SELECT FROM rowrun.task_run r WHERE r.database_id = b.database_id AND r.status = 'PENDING'
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
        FROM open o FULL JOIN first_sequential f ON f.database_id = o.database_id
    ), ranked AS MATERIALIZED (
        SELECT a.id, a.slots, row_number() OVER (PARTITION BY a.plan_id ORDER BY a.priority DESC, a.run_at, a.id) AS n
        FROM passed a WHERE a.alone
    )
    SELECT v.id, v.hold, v.plan_id, v.database_id, v.sequential AND v.database_id IS NOT NULL, v.crowded_out, v.fresh,
           v.could_go AND v.hold <> 'DATABASE' AND v.hold IS DISTINCT FROM v.held, (SELECT moment.t FROM moment)
    FROM (
        SELECT c.id, c.plan_id, c.database_id, c.sequential, c.held, c.held IS NULL AND c.version_key IS NOT NULL AS fresh,
               c.sequential AND c.database_id IS NOT NULL AND (c.held IS NULL OR c.held IN ('DATABASE', 'READY')) AS could_go,
               CASE WHEN c.gate IS NOT NULL THEN c.gate
                    WHEN NOT c.plan_open OR c.slots <= 0 THEN 'READY'
                    WHEN k.id IS NULL THEN 'DATABASE'
                    WHEN c.plan_id IS NOT NULL AND k.n > k.slots THEN 'READY' END AS hold,
               c.plan_id IS NOT NULL AND k.n > k.slots AS crowded_out
        FROM candidate c LEFT JOIN ranked k ON k.id = c.id
    ) v;
END;
COMMENT ON FUNCTION rowrun.judge(bigint[], bigint[], timestamptz, bigint) IS 'Internal: what holds each of these runs, judged together.';

-- The judgement of a pass: on which of these runs, and what follows from it for all of them together.
CREATE FUNCTION rowrun.verdicts_on(run_ids bigint[], OUT ids bigint[], OUT holds text[], OUT open_ids bigint[], OUT exclusive boolean,
    OUT crowded_out text[], OUT fresh text[], OUT freed text[], OUT t timestamptz) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    locked bigint[];
    plans bigint[];
    last_mark bigint;
    of_plans boolean;
    late bigint[];
BEGIN
    -- Rows that a user holds are left for later.
    SELECT coalesce(array_agg(r.id), '{}'), array_agg(DISTINCT r.plan_id) FILTER (WHERE r.plan_id IS NOT NULL)
    INTO locked, plans
    FROM (SELECT r.id, r.plan_id FROM task_run r WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING'
          ORDER BY r.id FOR NO KEY UPDATE SKIP LOCKED) r;
    IF cardinality(locked) < cardinality(run_ids) THEN
        INSERT INTO gate_mark (kind, run_id)
        SELECT DISTINCT 'RUN', c.id FROM unnest(run_ids) c(id)
        WHERE c.id <> ALL (locked)
          AND EXISTS (SELECT FROM task_run r WHERE r.id = c.id AND coalesce(r.status, '') = 'PENDING' AND r.judge_at IS NULL);
    END IF;

    -- Their moment is one before the next statement's snapshot, so that whatever gate was closed by then is seen closed; and
    -- not before an end that the snapshot sees. An end after t leaves its mark behind the last one now.
    last_mark := coalesce(pg_sequence_last_value('rowrun.gate_mark_id_seq'), 0);
    t := clock_timestamp();
    SELECT array_agg(v.id), array_agg(v.hold), coalesce(array_agg(v.id) FILTER (WHERE v.hold IS NULL), '{}'),
           bool_or(v.hold IS NULL AND v.exclusive), bool_or(v.hold IS NULL AND v.plan_id IS NOT NULL),
           array_agg(DISTINCT v.database_id) FILTER (WHERE v.crowded_out AND v.database_id IS NOT NULL),
           array_agg(DISTINCT v.database_id) FILTER (WHERE v.fresh), array_agg(DISTINCT v.database_id) FILTER (WHERE v.freed),
           max(v.judged_at)
    INTO ids, holds, open_ids, exclusive, of_plans, crowded_out, fresh, freed, t
    FROM rowrun.judge(locked, plans, t, last_mark) v;

    IF of_plans THEN
        -- The first run of a round begins it, with the plan's row held; where somebody else holds that, it waits.
        late := rowrun.begin_rounds(open_ids, false);
        IF cardinality(late) > 0 THEN
            open_ids := ARRAY(SELECT o FROM unnest(open_ids) o WHERE o <> ALL (late));
            holds := ARRAY(SELECT CASE WHEN v.id = ANY (late) THEN 'READY' ELSE v.hold END
                           FROM unnest(ids, holds) WITH ORDINALITY v(id, hold, n) ORDER BY v.n);
            INSERT INTO gate_mark (kind, plan_id) SELECT DISTINCT 'PLAN', r.plan_id FROM task_run r WHERE r.id = ANY (late);
        END IF;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.verdicts_on(bigint[]) IS 'Internal: locks runs, judges them, and begins the rounds of those that go.';

-- Promotes what has every gate open, and notes what holds the others.
CREATE FUNCTION rowrun.apply_verdicts(v record, OUT promoted integer, OUT next_ms double precision) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    promoted := 0;
    IF cardinality(v.open_ids) > 0 THEN
        -- Only the runs that have a database to themselves need the savepoint.
        IF v.exclusive THEN
            promoted := cardinality(make_available_singly(v.open_ids, v.t));
        ELSE
            promoted := cardinality(make_available(v.open_ids, v.t));
        END IF;
    END IF;
    IF cardinality(v.open_ids) < cardinality(v.ids) THEN
        IF 'DEPENDENCY' = ANY (v.holds) THEN
            PERFORM mark_unseen_ends(v.ids, v.holds);
        END IF;
        PERFORM hold_runs(v.ids, v.holds);
        IF 'TIME' = ANY (v.holds) THEN
            -- Their marks had them judged before they are due: this pass is the only one that is sure to be told of their time.
            next_ms := (SELECT extract(epoch FROM min(r.run_at) - v.t) * 1000
                        FROM task_run r JOIN unnest(v.ids, v.holds) h(id, hold) ON h.id = r.id WHERE h.hold = 'TIME');
        END IF;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.apply_verdicts(record) IS 'Internal: promotes runs, and notes what holds others.';

-- Whoever is just ending a task may not have seen that one of these waits for it. Whose tasks can all be locked is seen
-- by their ends; where one is held, or the verdict is out of date by now, it is judged again.
CREATE FUNCTION rowrun.mark_unseen_ends(run_ids bigint[], holds text[]) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    waiting bigint[];
    locked_tasks bigint[];
BEGIN
    waiting := ARRAY(SELECT r.id FROM unnest(run_ids, holds) v(id, hold) JOIN task_run r ON r.id = v.id
                     WHERE v.hold = 'DEPENDENCY' AND r.hold IS DISTINCT FROM 'DEPENDENCY');
    locked_tasks := ARRAY(SELECT n.id FROM task n
                          WHERE n.id IN (SELECT d.depends_on_id FROM task_run r JOIN unmet_dependency d ON d.task_id = r.task_id
                                         WHERE r.id = ANY (waiting))
                          ORDER BY n.id FOR SHARE SKIP LOCKED);
    INSERT INTO gate_mark (kind, run_id)
    SELECT 'RUN', r.id FROM task_run r
    WHERE r.id = ANY (waiting)
      AND (SELECT coalesce(bool_or(d.depends_on_id <> ALL (locked_tasks)), true) FROM unmet_dependency d WHERE d.task_id = r.task_id);
END $$;
COMMENT ON FUNCTION rowrun.mark_unseen_ends(bigint[], text[]) IS 'Internal: marks of runs that wait for a task which may just be ending.';

-- Marks of what this pass itself may have opened or not got round to; whether there is any. of_plans and cut_off are the
-- candidates'.
CREATE FUNCTION rowrun.leave_marks(v record, of_plans bigint[], cut_off text[]) RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    left_some boolean := 'SKIPPED' = ANY (v.holds); -- their ends have left marks
BEGIN
    IF v.fresh IS NOT NULL THEN
        -- A version that came may hold a sequential run back, behind which others then needn't wait.
        INSERT INTO gate_mark (kind, database_id)
        SELECT 'DATABASE', d FROM unnest(v.fresh) d
        WHERE EXISTS (SELECT FROM task_run w WHERE w.database_id = d AND w.version_key IS NULL AND NOT w.sequential
                      AND w.status = 'PENDING' AND w.hold = 'DATABASE')
          AND EXISTS (SELECT FROM task_run q WHERE q.database_id = d AND q.version_key IS NOT NULL AND q.sequential AND q.status = 'PENDING');
        left_some := left_some OR FOUND;
    END IF;
    IF v.freed IS NOT NULL THEN
        -- A sequential run that others waited behind, as mutual exclusion alone held it, and that something else holds now.
        INSERT INTO gate_mark (kind, database_id)
        SELECT 'DATABASE', d FROM unnest(v.freed) d
        WHERE EXISTS (SELECT FROM task_run w WHERE w.database_id = d AND w.status = 'PENDING' AND w.hold = 'DATABASE');
        left_some := left_some OR FOUND;
    END IF;
    IF num_nonnulls(v.crowded_out, cut_off) > 0 THEN
        INSERT INTO gate_mark (kind, database_id)
        SELECT DISTINCT 'DATABASE', d FROM unnest(coalesce(v.crowded_out, '{}') || coalesce(cut_off, '{}')) d
        WHERE EXISTS (SELECT FROM unnest(v.holds) h(hold) WHERE h.hold IS DISTINCT FROM 'DATABASE');
        left_some := left_some OR FOUND;
    END IF;
    IF cardinality(of_plans) > 0 THEN
        INSERT INTO gate_mark (kind, plan_id, wide)
        SELECT 'PLAN', q.plan_id, q.wide
        FROM (SELECT r.plan_id, bool_or(h.hold IS NOT NULL) AS wide
              FROM task_run r JOIN unnest(v.ids, v.holds) h(id, hold) ON h.id = r.id
              WHERE r.id = ANY (of_plans) AND h.hold IS DISTINCT FROM 'READY' GROUP BY r.plan_id) q
        CROSS JOIN LATERAL rowrun.plan_room(q.plan_id) room
        WHERE room.open AND room.slots > 0
          AND EXISTS (SELECT FROM task_run r WHERE r.plan_id = q.plan_id AND r.status = 'PENDING' AND r.hold = 'READY');
        left_some := left_some OR FOUND;
    END IF;
    RETURN coalesce(left_some, false);
END $$;
COMMENT ON FUNCTION rowrun.leave_marks(record, bigint[], text[]) IS 'Internal: marks of what a pass may have opened or not got round to.';

-- What a pass would do for databases on which runs have just ended, where that is simple: nothing is active there, and the
-- first that waits in the order of versions, priority and time is the only one that may start, held by its predecessor
-- alone. That is most of what migrations do, and takes a fraction of a pass, because it needs no mark and no judgement of
-- candidates against each other. A database on which something waits that it doesn't serve gets a mark for the next
-- pass, unless all that waits is behind a smaller version that is still active. It promotes under the lock of the passes,
-- and judges as they do (rowrun.closed_gate, rowrun.promote_runs); the ends were written by a statement before.
CREATE FUNCTION rowrun.advance_databases(databases text[], OUT promoted integer, OUT marked integer)
    LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz;
    last_mark bigint;
    patience text := current_setting('lock_timeout');
BEGIN
    PERFORM FROM rowrun.promotion_lock l WHERE l.id = 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        -- Marks would need another pass, which would hold the lock when the next ends come.
        BEGIN
            PERFORM set_config('lock_timeout', '20ms', true);
            PERFORM FROM rowrun.promotion_lock l WHERE l.id = 1 FOR UPDATE;
            IF NOT FOUND THEN -- no row, no lock: the next sweep puts it back
                RAISE EXCEPTION USING ERRCODE = 'lock_not_available';
            END IF;
            PERFORM set_config('lock_timeout', patience, true);
        EXCEPTION WHEN lock_not_available THEN
            INSERT INTO rowrun.gate_mark (kind, database_id) SELECT 'DATABASE', unnest(databases);
            promoted := 0;
            marked := cardinality(databases);
            RETURN;
        END;
    END IF;
    last_mark := coalesce(pg_sequence_last_value('rowrun.gate_mark_id_seq'), 0);
    t := clock_timestamp(); -- as in promote_runs
    WITH first AS MATERIALIZED (
        SELECT d.id AS database_id, r.id,
               r.plan_id IS NULL AND r.missed_at IS NULL AND a.is_there IS NULL
               AND (r.version_key IS NULL OR NOT EXISTS (
                   SELECT FROM rowrun.task_run u WHERE u.database_id = d.id AND u.status = 'PENDING' AND u.version_key IS NULL))
               AND (r.sequential
                    OR (SELECT count(*) FROM (SELECT FROM rowrun.task_run u WHERE u.database_id = d.id AND u.status = 'PENDING'
                                              AND u.version_key = r.version_key LIMIT 2) u) = 1)
               AND EXISTS (
                   SELECT FROM rowrun.task k
                   JOIN rowrun.replica_heartbeat h ON rowrun.takes(h, t, r.queue, r.type, r.database_id, k.payload)
                   WHERE k.id = r.task_id AND rowrun.own_cause(k, r.missed_at, t) IS NULL) AS simple,
               coalesce(a.version_key < r.version_key, false) AND NOT EXISTS (
                   SELECT FROM rowrun.task_run u WHERE u.database_id = d.id AND u.status = 'PENDING' AND u.version_key IS NULL) AS blocked
        FROM unnest(databases) d(id)
        CROSS JOIN LATERAL (
            SELECT * FROM rowrun.task_run r WHERE r.database_id = d.id AND r.status = 'PENDING'
            ORDER BY r.version_key, r.sequential, r.priority DESC, r.run_at, r.id LIMIT 1) r
        LEFT JOIN LATERAL (
            SELECT true AS is_there, a.version_key FROM rowrun.task_run a WHERE a.database_id = d.id AND a.status IN ('AVAILABLE', 'RUNNING')
            ORDER BY a.version_key LIMIT 1) a ON true
    ), locked AS MATERIALIZED (
        SELECT r.id FROM rowrun.task_run r
        WHERE r.id = ANY (ARRAY(SELECT f.id FROM first f WHERE f.simple))
          AND coalesce(r.status, '') = 'PENDING' AND r.hold = 'DATABASE' -- then it is due as well
        FOR NO KEY UPDATE SKIP LOCKED
    ), changed AS MATERIALIZED (
        SELECT CASE WHEN cardinality(l.ids) > 0 THEN rowrun.make_available(l.ids, greatest(t, (SELECT max(m.at) FROM rowrun.gate_mark m WHERE m.id > last_mark)))
                    ELSE '{}' END AS ids
        FROM (SELECT ARRAY(SELECT l.id FROM locked l) AS ids OFFSET 0) l
    ), left_over AS (
        INSERT INTO rowrun.gate_mark (kind, database_id)
        SELECT 'DATABASE', f.database_id FROM first f WHERE NOT f.blocked AND f.id <> ALL ((SELECT c.ids FROM changed c)::bigint[])
        RETURNING 1
    )
    SELECT cardinality(c.ids), (SELECT count(*) FROM left_over) INTO promoted, marked FROM changed c;
END $$;
COMMENT ON FUNCTION rowrun.advance_databases(text[]) IS 'Internal: promotes the next version on databases where runs have ended, or leaves a mark.';

INSERT INTO rowrun.migration (version) VALUES (5);
