-- Whom to judge: what is due, and what marks name. Every list is bounded; where a bound is met, the rest keeps its mark.
-- of_plans are those that were found by their plan, cut_off the databases whose list met its bound, turns runs in the order of
-- their turns; NULL: that isn't asked. rooms: see fair_rooms.
CREATE OR REPLACE FUNCTION rowrun.candidates(marks record, due boolean, rooms jsonb, most integer,
    OUT ids bigint[], OUT of_plans bigint[], OUT cut_off text[], OUT turns bigint[], OUT more boolean) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz := clock_timestamp();
    bound integer := least(2 * most, 2000);
    plans bigint[] := marks.plans;
    part bigint[] := '{}';
    others text[]; -- keys whose runs don't wait for turns
BEGIN
    more := false;
    IF due THEN
        part := ARRAY(SELECT r.id FROM task_run r
                      WHERE r.judge_at <= t AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
                      ORDER BY r.judge_at LIMIT 1000);
        part := part[1:most];
        more := cardinality(part) >= least(most, 1000);
        IF more THEN
            part := first_looks(part, t, most);
        END IF;
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
        -- Of tasks that were skipped: what was inserted or promoted beside that is among their newest runs.
        more := cancel_available(ARRAY(
            SELECT n.id FROM unnest(marks.dependents) w(task_id)
            CROSS JOIN LATERAL (SELECT r.id, r.status FROM task_run r WHERE r.task_id = w.task_id ORDER BY r.task_id DESC, r.id DESC LIMIT 1000) n
            WHERE n.status = 'AVAILABLE'), marks.dependents) OR more;
        ids := ids || ARRAY(SELECT w.id FROM waiting_of_tasks(marks.dependents) w);
    END IF;
    IF cardinality(marks.tasks) > 0 THEN
        part := ARRAY(SELECT w.id FROM waiting_for_tasks(marks.tasks) w);
        ids := ids || part[1:bound];
        IF cardinality(part) >= bound THEN
            INSERT INTO gate_mark (kind, task_id) SELECT 'DEPENDENCY', unnest(marks.tasks);
            more := true;
        END IF;
    END IF;
    IF cardinality(marks.paused) > 0 THEN
        part := ARRAY(SELECT r.id FROM task_run r JOIN task k ON k.id = r.task_id
                      WHERE r.task_id = ANY (marks.paused) AND r.status = 'PENDING' AND r.cause = 'PAUSED' AND NOT k.paused
                      LIMIT 2000);
        ids := ids || part[1:bound];
        IF cardinality(part) >= bound THEN
            INSERT INTO gate_mark (kind, task_id) SELECT 'PAUSED', unnest(marks.paused);
            more := true;
        END IF;
    END IF;
    IF marks.failures IS NOT NULL THEN
        part := ARRAY(SELECT w.id FROM waiting_for_mends(marks.failures) w);
        ids := ids || part[1:bound];
        IF cardinality(part) >= bound THEN
            INSERT INTO gate_mark (kind, plan_id, database_id)
            SELECT 'PLAN_FAILED', f.plan_id, f.database_id FROM jsonb_to_recordset(marks.failures) AS f(plan_id bigint, database_id text);
            more := true;
        END IF;
    END IF;
    IF marks.replicas THEN
        part := ARRAY(SELECT w.id FROM waiting_for_replicas(t) w);
        ids := ids || part[1:bound];
        IF cardinality(part) >= bound THEN
            INSERT INTO gate_mark (kind) VALUES ('NO_REPLICA');
            more := true;
        END IF;
    END IF;
    IF cardinality(marks.limit_keys) > 0 THEN
        PERFORM reopen_available(marks.limit_keys, t);
        others := ARRAY(SELECT u.limit_key FROM unnest(marks.limit_keys) u(limit_key)
                        WHERE (SELECT l.share FROM concurrency_limit l WHERE l.id = limit_id_of(u.limit_key)) IS DISTINCT FROM 'FAIR');
        IF others <> '{}' THEN
            ids := ids || ARRAY(SELECT w.id FROM waiting_for_limits(others, t, most) w);
        END IF;
    END IF;
    IF rooms IS NOT NULL AND (marks.replicas OR cardinality(marks.limit_keys) > 0) THEN
        PERFORM note_turns(marks.limit_keys, t);
        turns := choose_turns(rooms, t, most);
        ids := ids || turns;
    END IF;
    IF cardinality(plans) > 0 THEN
        of_plans := ARRAY(SELECT w.id FROM waiting_of_plans(plans, marks.wide, most) w);
        ids := ids || of_plans;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.candidates(record, boolean, jsonb, integer) IS 'Internal: the runs that a pass judges.';

-- Where more is due than a pass takes on, databases and plans take turns: the first of each, a few hundred of them a pass,
-- and then what has been due for longest. Where several wait the pass is a short one, as each waits for its end. The session
-- remembers where it was; a pass of another one begins elsewhere, which is as good.
-- The bounds are rows, so that no other index gives the order.
CREATE OR REPLACE FUNCTION rowrun.first_looks(oldest bigint[], t timestamptz, most integer) RETURNS bigint[] LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    turn jsonb;
    after record;
    firsts bigint[];
    waiting integer;
BEGIN
    BEGIN
        turn := nullif(current_setting('rowrun.turn', true), '');
        SELECT coalesce(turn ->> 0, '') AS database_id, coalesce((turn ->> 1)::bigint, -1) AS plan_id INTO after;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN -- it isn't ours: anybody can set it for all sessions of a role of his
        SELECT '' AS database_id, -1::bigint AS plan_id INTO after;
    END;
    WITH RECURSIVE turns AS (
        (SELECT coalesce(r.database_id, '') AS database_id, coalesce(r.plan_id, 0) AS plan_id, 1 AS n FROM task_run r
         WHERE r.judge_at IS NOT NULL AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
           AND (coalesce(r.database_id, ''), coalesce(r.plan_id, 0)) > (after.database_id, after.plan_id)
         ORDER BY coalesce(r.database_id, ''), coalesce(r.plan_id, 0) LIMIT 1)
        UNION ALL
        SELECT x.database_id, x.plan_id, s.n + 1
        FROM turns s
        CROSS JOIN LATERAL (
            SELECT coalesce(r.database_id, '') AS database_id, coalesce(r.plan_id, 0) AS plan_id FROM task_run r
            WHERE r.judge_at IS NOT NULL AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
              AND (coalesce(r.database_id, ''), coalesce(r.plan_id, 0)) > (s.database_id, s.plan_id)
            ORDER BY coalesce(r.database_id, ''), coalesce(r.plan_id, 0) LIMIT 1) x
        WHERE s.n < 500
    ), firsts AS (
        SELECT f.id, f.judge_at, row_number() OVER (PARTITION BY s.n ORDER BY f.judge_at) AS place
        FROM turns s
        CROSS JOIN LATERAL (
            SELECT r.id, r.judge_at FROM task_run r
            WHERE r.judge_at IS NOT NULL AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
              AND (coalesce(r.database_id, ''), coalesce(r.plan_id, 0), r.judge_at) >= (s.database_id, s.plan_id, timestamptz '-infinity')
              AND (coalesce(r.database_id, ''), coalesce(r.plan_id, 0), r.judge_at) <= (s.database_id, s.plan_id, t)
            ORDER BY coalesce(r.database_id, ''), coalesce(r.plan_id, 0), r.judge_at LIMIT 20) f
    )
    SELECT coalesce((SELECT array_agg(f.id ORDER BY f.place, f.judge_at) FROM firsts f), '{}'),
           (SELECT count(*) FROM firsts f WHERE f.place = 1),
           coalesce((SELECT jsonb_build_array(s.database_id, s.plan_id) FROM turns s WHERE s.n = 500), '["", -1]')
    INTO firsts, waiting, turn;
    PERFORM set_config('rowrun.turn', turn::text, false);
    firsts := firsts[1:most];
    firsts := firsts || ARRAY(SELECT o.id FROM unnest(oldest) WITH ORDINALITY o(id, n) LEFT JOIN unnest(firsts) f(id) ON f.id = o.id
                              WHERE f.id IS NULL ORDER BY o.n);
    RETURN firsts[1:CASE WHEN waiting > 1 THEN least(most, greatest(20 * waiting, 200)) ELSE most END];
END $$;
COMMENT ON FUNCTION rowrun.first_looks(bigint[], timestamptz, integer) IS 'Internal: whom a pass looks at where more is due than it takes on.';

-- Of each database those that the order lets through: without a version, or of the smallest unfinished one, each the n-th
-- of its list. Behind a sequential run nothing starts, so that some of these end the list. Where something else holds
-- them now, they are passed over, and their database keeps a mark (freed). Where a sequential run is active nothing goes, and
-- its end leaves another mark.
CREATE OR REPLACE FUNCTION rowrun.waiting_on_databases(databases text[]) RETURNS TABLE (id bigint, database_id text, n bigint)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT c.id, c.database_id, c.n
    FROM (SELECT d.database_id FROM unnest(waiting_on_databases.databases) d(database_id)
          WHERE NOT EXISTS (SELECT FROM rowrun.task_run a WHERE a.database_id = d.database_id AND a.sequential AND a.status IN ('AVAILABLE', 'RUNNING'))
          OFFSET 0) d
    CROSS JOIN LATERAL rowrun.smallest_version(d.database_id) m
    CROSS JOIN LATERAL (
        SELECT x.id, d.database_id, row_number() OVER () AS n,
               count(*) FILTER (WHERE x.sequential) OVER (ROWS UNBOUNDED PRECEDING) - x.sequential::int AS before FROM (
            SELECT r.id, r.sequential FROM rowrun.task_run r
            WHERE r.status = 'PENDING' AND r.cause = 'DATABASE' AND r.database_id = d.database_id AND r.version_key IS NULL
            ORDER BY r.version_key, r.priority DESC, r.run_at, r.id LIMIT 200) x
        UNION ALL
        SELECT x.id, d.database_id, row_number() OVER () AS n,
               count(*) FILTER (WHERE x.sequential) OVER (ROWS UNBOUNDED PRECEDING) - x.sequential::int AS before FROM (
            SELECT r.id, r.sequential FROM rowrun.task_run r
            WHERE r.status = 'PENDING' AND r.cause = 'DATABASE' AND r.database_id = d.database_id AND r.version_key = m.version_key
            ORDER BY r.priority DESC, r.run_at, r.id LIMIT 200) x
    ) c
    WHERE c.before < 5;
END;
COMMENT ON FUNCTION rowrun.waiting_on_databases(text[]) IS 'Internal: runs that the order of their database lets through.';

CREATE OR REPLACE FUNCTION rowrun.waiting_of_tasks(task_ids bigint[]) RETURNS TABLE (id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT u.id FROM unnest(waiting_of_tasks.task_ids) w(task_id)
    CROSS JOIN LATERAL (
        SELECT x.id, x.status FROM rowrun.task_run x
        WHERE x.task_id = w.task_id AND x.plan_id IS NOT NULL AND x.status IN ('PENDING', 'AVAILABLE', 'RUNNING') LIMIT 1) u
    WHERE coalesce(u.status, '') = 'PENDING';
END;
COMMENT ON FUNCTION rowrun.waiting_of_tasks(bigint[]) IS 'Internal: the PENDING runs of tasks of plans.';

-- Dependents whose every dependency is met now, asked of each (OFFSET 0): a join would read all dependencies there are. What goes on
-- waiting for its wave or for other jobs, with the same cause, or for its time, is left out: it would come first again and again, and
-- those behind it never. The opening of the wave, the ends of those jobs, and judge_at have it looked at.
CREATE OR REPLACE FUNCTION rowrun.waiting_for_tasks(task_ids bigint[]) RETURNS TABLE (id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT r.id
    FROM (SELECT DISTINCT e.task_id FROM rowrun.task_dependency e WHERE e.depends_on_id = ANY (waiting_for_tasks.task_ids)) w
    CROSS JOIN LATERAL (
        SELECT u.id, u.cause, u.run_at, u.after FROM rowrun.task_run u
        WHERE u.task_id = w.task_id AND u.plan_id IS NOT NULL
          AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND coalesce(u.status, '') = 'PENDING' LIMIT 1) r
    WHERE (r.cause = 'DEPENDENCY' OR r.cause IS NULL AND r.run_at <= statement_timestamp())
      AND NOT EXISTS (SELECT FROM rowrun.unmet_dependency d WHERE d.task_id = w.task_id OFFSET 0)
      AND NOT EXISTS (SELECT FROM rowrun.task k JOIN rowrun.plan_wave c ON c.plan_id = k.plan_id AND c.wave = k.wave
                      WHERE k.id = w.task_id AND c.opened_at IS NULL OFFSET 0)
      AND (r.after IS NULL OR NOT rowrun.awaits_runs(r.id))
    LIMIT 2000;
END;
COMMENT ON FUNCTION rowrun.waiting_for_tasks(bigint[]) IS 'Internal: runs that waited for these tasks, and for none any more.';

CREATE OR REPLACE FUNCTION rowrun.waiting_for_mends(failures jsonb) RETURNS TABLE (id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT r.id FROM jsonb_to_recordset(waiting_for_mends.failures) AS f(plan_id bigint, database_id text)
    JOIN rowrun.task_run r ON r.plan_id = f.plan_id AND r.database_id = f.database_id
    WHERE r.status = 'PENDING' AND r.cause = 'PLAN_FAILED'
      AND NOT EXISTS (SELECT FROM rowrun.task x JOIN rowrun.plan p ON p.id = x.plan_id
                      WHERE x.plan_id = r.plan_id AND x.database_id = r.database_id
                        AND p.on_failure = 'STOP_DATABASE' AND x.version_key < r.version_key
                        AND x.outcome IN ('FAILED', 'CANCELED') AND NOT x.skipped)
    LIMIT 2000;
END;
COMMENT ON FUNCTION rowrun.waiting_for_mends(jsonb) IS 'Internal: runs that a failed version held on these databases of plans, and none any more.';

-- As many as a plan has room for, or as the pass takes on where the mark asked for a wider look.
CREATE OR REPLACE FUNCTION rowrun.waiting_of_plans(plan_ids bigint[], wide bigint[], most integer) RETURNS TABLE (id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT x.id FROM unnest(waiting_of_plans.plan_ids) p(id)
    CROSS JOIN LATERAL rowrun.plan_room(p.id) room
    CROSS JOIN LATERAL (
        SELECT r.id FROM rowrun.task_run r WHERE r.plan_id = p.id AND r.status = 'PENDING' AND r.cause = 'PLAN'
        ORDER BY r.priority DESC, r.run_at, r.id
        LIMIT CASE WHEN p.id = ANY (waiting_of_plans.wide) THEN waiting_of_plans.most ELSE least(room.slots, waiting_of_plans.most) END) x
    WHERE room.open AND room.slots > 0;
END;
COMMENT ON FUNCTION rowrun.waiting_of_plans(bigint[], bigint[], integer) IS 'Internal: runs for which their plans have room.';
