-- Plans as a whole: which event a round has, who may begin the next one, and what people do with a plan.
--
-- Whoever decides an event or begins a round holds the plan's row (FOR NO KEY UPDATE), taken by a statement of its own
-- before anything is counted: two that end the last two runs at once see one another.

-- The event that a plan's round is due, NULL: none, or it was decided. Inlined where it is called. What is asked at
-- every end of a run costs the same with any number of tasks: the open task is looked for from the newest on, because
-- the entries of those that were done first are still passed by a look from the other side.
CREATE FUNCTION rowrun.due_event(p rowrun.plan) RETURNS TABLE (event text) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE
        WHEN p.announced_round >= p.round THEN NULL
        WHEN EXISTS (
            SELECT FROM rowrun.task f
            WHERE f.plan_id = p.id AND f.outcome_round = p.round AND f.outcome = 'FAILED' AND NOT f.skipped
              AND NOT EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = f.id AND u.plan_id IS NOT NULL
                              AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
        ) THEN 'PIPELINE_FAILED'
        WHEN p.paused THEN NULL
        WHEN (SELECT o.id FROM rowrun.task o
              WHERE o.plan_id = p.id AND o.plan_id IS NOT NULL AND NOT o.skipped AND o.outcome IS DISTINCT FROM 'DONE'
              ORDER BY o.plan_id DESC, o.id DESC LIMIT 1) IS NOT NULL THEN NULL
        WHEN EXISTS (
            SELECT FROM rowrun.task_run u JOIN rowrun.task k ON k.id = u.task_id
            WHERE u.plan_id = p.id AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND NOT k.skipped
        ) THEN NULL
        WHEN EXISTS (SELECT FROM rowrun.task k WHERE k.plan_id = p.id) THEN 'PIPELINE_COMPLETED'
    END
    FROM (SELECT) one;
END;

-- What is said of an event: the text, and the body in each of the two formats. failed_tasks is cut so that a body stays
-- below 20,000 bytes; failed_task_count isn't. Its failures are those of this round.
CREATE FUNCTION rowrun.plan_message(p rowrun.plan, event text, OUT message text, OUT standard text, OUT slack text)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    again text := CASE WHEN p.retry_count > 0 THEN ' on retry' ELSE '' END;
    head text;
    tail text;
    items text[] := '{}';
    kept text := '';
    item text;
    first text;
    failed bigint;
BEGIN
    IF event = 'PIPELINE_FAILED' THEN
        SELECT count(*),
               (array_agg(CASE WHEN x.name = '' THEN 'Task ' || x.task_id WHEN x.name ILIKE 'task %' THEN x.name
                               ELSE 'Task ' || x.name END ORDER BY x.n))[1],
               (array_agg(row_to_json(j)::text ORDER BY x.n))[1:500]
        INTO failed, first, items
        FROM (
            SELECT f.id AS task_id, f.name, n.id AS run_id, n.attempt, left(coalesce(n.result ->> 'detail', ''), 2000) AS detail,
                   row_number() OVER (ORDER BY n.finished_at, n.id, f.id) AS n
            FROM task f
            LEFT JOIN LATERAL (
                SELECT r.id, r.attempt, r.result, r.finished_at FROM task_run r
                WHERE r.task_id = f.id AND r.plan_id IS NOT NULL AND r.status = 'FAILED' ORDER BY r.id DESC LIMIT 1) n ON true
            WHERE f.plan_id = p.id AND f.outcome_round = p.round AND f.outcome = 'FAILED' AND NOT f.skipped
              AND NOT EXISTS (SELECT FROM task_run u WHERE u.task_id = f.id AND u.plan_id IS NOT NULL
                              AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
        ) x CROSS JOIN LATERAL (SELECT x.task_id, x.name, x.run_id, x.attempt, x.detail) j;
        message := 'Pipeline failed' || again || ' - ' || first || ' failed';
        tail := ',"failed_task_count":' || failed || ',"failed_tasks":[';
    ELSE
        message := 'Pipeline completed successfully' || again;
        SELECT ',"tasks":' || count(*) || ',"done":' || count(*) FILTER (WHERE NOT k.skipped)
               || ',"skipped":' || count(*) FILTER (WHERE k.skipped)
        INTO tail FROM task k WHERE k.plan_id = p.id;
    END IF;
    head := '{"type":' || to_json(event) || ',"timestamp":"'
        || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '","data":{"project":' || to_json(p.project)
        || ',"plan_id":' || p.id || ',"plan":' || to_json(p.name) || ',"round":' || p.round || ',"retry_count":' || p.retry_count
        || ',"message":' || to_json(message);
    FOREACH item IN ARRAY items LOOP
        EXIT WHEN octet_length(head) + octet_length(tail) + octet_length(kept) + octet_length(item) + 4 > 20000;
        kept := kept || CASE kept WHEN '' THEN '' ELSE ',' END || item;
    END LOOP;
    standard := head || tail || CASE event WHEN 'PIPELINE_FAILED' THEN kept || ']' ELSE '' END || '}}';
    slack := '{"text":' || to_json(replace(replace(replace(
        message || ' (' || CASE p.name WHEN '' THEN '' ELSE p.name || ', ' END || 'plan ' || p.id || ')',
        '&', '&amp;'), '<', '&lt;'), '>', '&gt;')) || '}';
END $$;

-- Decides the events of plans whose rows the caller holds: the claim in the log, and a message for each webhook that
-- wants it. How many events.
CREATE FUNCTION rowrun.announce_plans(plan_ids bigint[]) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    due record;
    p rowrun.plan;
    what text;
    said record;
    made integer := 0;
    outbox boolean := false;
BEGIN
    FOR due IN
        SELECT q AS plan, e.event FROM plan q CROSS JOIN LATERAL rowrun.due_event(q) e
        WHERE q.id = ANY (plan_ids) AND q.announced_round < q.round AND e.event IS NOT NULL ORDER BY q.id
    LOOP
        p := due.plan;
        what := due.event;
        UPDATE plan SET announced_round = p.round WHERE id = p.id;
        INSERT INTO webhook_delivery_log AS l (plan_id, event_type, round, retry_count, delivered_at)
        VALUES (p.id, what, p.round, p.retry_count, clock_timestamp())
        ON CONFLICT (plan_id) DO UPDATE
        SET event_type = excluded.event_type, round = excluded.round, retry_count = excluded.retry_count, delivered_at = excluded.delivered_at
        WHERE l.round < excluded.round;
        IF NOT FOUND THEN
            CONTINUE;
        END IF;
        made := made + 1;
        IF EXISTS (SELECT FROM webhook w WHERE w.project = p.project AND w.enabled AND what = ANY (w.events)) THEN
            SELECT * INTO said FROM plan_message(p, what);
            INSERT INTO webhook_delivery (id, webhook_id, plan_id, round, event_type, message_id, payload)
            SELECT next_delivery_id(), w.id, p.id, p.round, what, 'msg_' || replace(gen_random_uuid()::text, '-', ''),
                   CASE w.format WHEN 'slack' THEN said.slack ELSE said.standard END
            FROM webhook w WHERE w.project = p.project AND w.enabled AND what = ANY (w.events) ORDER BY w.id
            ON CONFLICT (webhook_id, plan_id, round) DO NOTHING;
            outbox := outbox OR FOUND;
        END IF;
    END LOOP;
    IF outbox THEN
        PERFORM notify_look();
    END IF;
    RETURN made;
END $$;

-- The next round of a plan whose row the caller holds, unless it has begun: what was announced is over.
CREATE FUNCTION rowrun.begin_round(plan_id bigint, next integer, by_run boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    UPDATE plan p SET round = begin_round.next, retry_count = least(p.retry_count, 2147483646) + begin_round.by_run::int
    WHERE p.id = begin_round.plan_id AND p.round < begin_round.next;
    IF FOUND THEN
        DELETE FROM webhook_delivery_log l WHERE l.plan_id = begin_round.plan_id;
    END IF;
END $$;

-- Plans whose next round runs belong to. A run that was inserted while its plan was just being announced as completed, or
-- its task's failure was, carries the old round. A run that was promoted while somebody's skip of its task wasn't
-- committed yet belongs to none: the task counts as done. Inlined where it is called.
CREATE FUNCTION rowrun.next_rounds(run_ids bigint[]) RETURNS TABLE (plan_id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT DISTINCT p.id
    FROM rowrun.task_run r JOIN rowrun.plan p ON p.id = r.plan_id JOIN rowrun.task k ON k.id = r.task_id
    WHERE r.id = ANY (run_ids) AND NOT k.skipped
      AND (r.round > p.round
           OR p.announced_round = p.round
              AND (k.outcome = 'FAILED' AND k.outcome_round = p.round
                   OR EXISTS (SELECT FROM rowrun.webhook_delivery_log l
                              WHERE l.plan_id = p.id AND l.round = p.round AND l.event_type = 'PIPELINE_COMPLETED')));
END;

-- The rounds that runs begin which are promoted now, or were by hand. Where somebody holds the plan (wait false), its
-- runs are returned instead.
CREATE FUNCTION rowrun.begin_rounds(run_ids bigint[], wait boolean) RETURNS bigint[] LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    wanted bigint[] := ARRAY(SELECT n.plan_id FROM rowrun.next_rounds(run_ids) n);
    held bigint[];
BEGIN
    IF cardinality(wanted) = 0 THEN
        RETURN '{}';
    END IF;
    IF wait THEN
        held := wanted;
        PERFORM FROM plan p WHERE p.id = ANY (wanted) ORDER BY p.id FOR NO KEY UPDATE;
    ELSE
        held := ARRAY(SELECT p.id FROM plan p WHERE p.id = ANY (wanted) ORDER BY p.id FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    PERFORM rowrun.begin_round(p.id, least(p.round, 2147483646) + 1, true)
    FROM plan p
    WHERE p.id = ANY (held) AND p.announced_round = p.round
      AND p.id IN (SELECT n.plan_id FROM rowrun.next_rounds(run_ids) n);
    RETURN ARRAY(SELECT r.id FROM task_run r WHERE r.id = ANY (run_ids) AND r.plan_id = ANY (wanted) AND r.plan_id <> ALL (held));
END $$;

-- What the marks of plans name, and at a sweep what has no mark: events that were not decided where their cause was
-- written by hand, rounds that were begun by hand. Plans that somebody holds keep their marks.
CREATE FUNCTION rowrun.settle_plans(plan_ids bigint[], rounds jsonb, sweep boolean) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    due bigint[];
    held bigint[];
    start bigint;
BEGIN
    due := ARRAY(SELECT p.id FROM plan p CROSS JOIN LATERAL rowrun.due_event(p) e
                 WHERE p.id = ANY (plan_ids) AND p.announced_round < p.round AND e.event IS NOT NULL)
        || ARRAY(SELECT p.id FROM jsonb_to_recordset(rounds) AS b(plan_id bigint, round integer)
                 JOIN plan p ON p.id = b.plan_id WHERE b.round > p.round);
    IF sweep THEN
        -- From anywhere on and from the first: each gets its turn, however many plans are never completed.
        start := floor(random() * coalesce((SELECT max(p.id) FROM plan p), 0));
        due := due || ARRAY(
            SELECT p.id FROM plan p CROSS JOIN LATERAL rowrun.due_event(p) e
            WHERE p.id = ANY (ARRAY(SELECT q.id FROM plan q WHERE q.announced_round < q.round AND q.id > start ORDER BY q.id LIMIT 1000)
                              || ARRAY(SELECT q.id FROM plan q WHERE q.announced_round < q.round ORDER BY q.id LIMIT 1000))
              AND e.event IS NOT NULL);
    END IF;
    IF cardinality(due) = 0 THEN
        RETURN;
    END IF;
    held := ARRAY(SELECT p.id FROM plan p WHERE p.id = ANY (due) ORDER BY p.id FOR NO KEY UPDATE SKIP LOCKED);
    INSERT INTO gate_mark (kind, plan_id, round, by_run)
    SELECT DISTINCT 'PLAN', d.id, b.round, b.by_run
    FROM unnest(due) d(id)
    LEFT JOIN jsonb_to_recordset(rounds) AS b(plan_id bigint, round integer, by_run boolean) ON b.plan_id = d.id
    WHERE d.id <> ALL (held);
    PERFORM rowrun.begin_round(b.plan_id, max(b.round), bool_or(b.by_run))
    FROM jsonb_to_recordset(rounds) AS b(plan_id bigint, round integer, by_run boolean)
    WHERE b.plan_id = ANY (held) GROUP BY b.plan_id;
    PERFORM rowrun.announce_plans(held);
END $$;

CREATE FUNCTION rowrun.check_plan(plan_id bigint) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    PERFORM rowrun.check_isolation();
    IF NOT EXISTS (SELECT FROM rowrun.plan p WHERE p.id = check_plan.plan_id) THEN
        RAISE EXCEPTION 'plan % does not exist', coalesce(check_plan.plan_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.plan.';
    END IF;
    -- Twice at once: the second waits until the first has committed, and finds nothing left. Not the plan's row: its
    -- runs go on ending while a user's transaction is open.
    PERFORM pg_advisory_xact_lock(1920298605, hashint8(check_plan.plan_id));
END $$;

CREATE FUNCTION rowrun.run_plan(plan_id bigint) RETURNS SETOF bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM rowrun.check_plan(run_plan.plan_id);
    RETURN QUERY
    INSERT INTO rowrun.task_run AS made (task_id)
    SELECT k.id FROM rowrun.task k
    WHERE k.plan_id = run_plan.plan_id AND NOT k.skipped
      AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = k.id AND r.plan_id IS NOT NULL)
    ORDER BY k.id
    ON CONFLICT (task_id) WHERE plan_id IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING') DO NOTHING
    RETURNING made.id;
END $$;

CREATE FUNCTION rowrun.retry_plan(plan_id bigint) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    tasks bigint[];
    runs bigint[];
    retried bigint[];
BEGIN
    PERFORM check_plan(retry_plan.plan_id);
    tasks := ARRAY(SELECT k.id FROM task k
                   WHERE k.plan_id = retry_plan.plan_id AND NOT k.skipped AND k.outcome IN ('FAILED', 'CANCELED')
                   ORDER BY k.id FOR NO KEY UPDATE);
    runs := ARRAY(SELECT n.id FROM unnest(tasks) t(id)
                  CROSS JOIN LATERAL (SELECT r.id FROM task_run r WHERE r.task_id = t.id AND r.plan_id IS NOT NULL
                                      ORDER BY r.id DESC LIMIT 1) n
                  WHERE NOT EXISTS (SELECT FROM task_run u WHERE u.task_id = t.id AND u.plan_id IS NOT NULL
                                    AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING')));
    PERFORM FROM task_run r WHERE r.id = ANY (runs) ORDER BY r.id FOR NO KEY UPDATE;
    WITH again AS (
        UPDATE task_run r SET retry_run_id = next_run_id()
        WHERE r.id = ANY (runs) AND coalesce(r.status, '') IN ('FAILED', 'CANCELED') AND r.retry_run_id IS NULL
        RETURNING r.id
    )
    SELECT coalesce(array_agg(id), '{}') INTO retried FROM again;
    RETURN QUERY
    INSERT INTO task_run AS made (id, task_id, retry_of, root_id, attempt, input, priority, creator)
    SELECT r.retry_run_id, r.task_id, r.id, r.root_id, least(r.attempt, 2147483646) + 1, r.input, r.priority, session_user
    FROM task_run r WHERE r.id = ANY (retried) ORDER BY r.id
    RETURNING made.id;
    IF cardinality(retried) > 0 AND NOT is_quiet() THEN
        PERFORM notify_look();
    END IF;
END $$;

CREATE FUNCTION rowrun.cancel_plan(plan_id bigint, reason text DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    tasks bigint[];
    canceled bigint;
BEGIN
    PERFORM check_plan(cancel_plan.plan_id);
    -- With the plan held no run ends beside this, so that no automatic retry escapes.
    PERFORM FROM plan p WHERE p.id = cancel_plan.plan_id FOR NO KEY UPDATE;
    tasks := ARRAY(SELECT k.id FROM task k
                   WHERE k.id IN (SELECT r.task_id FROM task_run r WHERE r.plan_id = cancel_plan.plan_id
                                  AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
                   ORDER BY k.id FOR NO KEY UPDATE);
    PERFORM FROM task_run r WHERE r.task_id = ANY (tasks) AND r.plan_id IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
    ORDER BY r.id FOR NO KEY UPDATE;
    UPDATE task_run r SET cancel_requested_at = clock_timestamp(), cancel_reason = cancel_plan.reason
    WHERE r.task_id = ANY (tasks) AND r.plan_id IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
      AND r.cancel_requested_at IS NULL;
    GET DIAGNOSTICS canceled = ROW_COUNT;
    RETURN canceled;
END $$;

CREATE FUNCTION rowrun.set_skipped(task_id bigint, skip boolean, reason text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    of_plan bigint;
    before record;
BEGIN
    PERFORM check_isolation();
    SELECT k.plan_id INTO of_plan FROM task k WHERE k.id = set_skipped.task_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'task % does not exist', coalesce(set_skipped.task_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.task.';
    END IF;
    SELECT p.round, p.announced_round INTO before FROM plan p WHERE p.id = of_plan FOR NO KEY UPDATE;
    UPDATE task k SET skipped = skip, skip_reason = CASE WHEN skip THEN reason END
    WHERE k.id = set_skipped.task_id AND k.skipped <> skip;
    IF FOUND AND of_plan IS NOT NULL THEN
        IF before.announced_round >= before.round THEN
            PERFORM begin_round(of_plan, least(before.round, 2147483646) + 1, false);
        END IF;
        PERFORM announce_plans(ARRAY[of_plan]);
    END IF;
END $$;

CREATE FUNCTION rowrun.skip_task(task_id bigint, reason text DEFAULT NULL) RETURNS void LANGUAGE sql
    SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$ SELECT rowrun.set_skipped(task_id, true, reason) $$;
CREATE FUNCTION rowrun.unskip_task(task_id bigint) RETURNS void LANGUAGE sql
    SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$ SELECT rowrun.set_skipped(task_id, false, NULL) $$;

COMMENT ON FUNCTION rowrun.due_event(rowrun.plan) IS 'Internal: the event that a plan''s round is due.';
COMMENT ON FUNCTION rowrun.plan_message(rowrun.plan, text) IS 'Internal: what is said of an event.';
COMMENT ON FUNCTION rowrun.announce_plans(bigint[]) IS 'Internal: decides the events of plans that the caller holds.';
COMMENT ON FUNCTION rowrun.begin_round(bigint, integer, boolean) IS 'Internal: the next round of a plan that the caller holds.';
COMMENT ON FUNCTION rowrun.next_rounds(bigint[]) IS 'Internal: plans whose next round runs belong to.';
COMMENT ON FUNCTION rowrun.begin_rounds(bigint[], boolean) IS 'Internal: the rounds that runs begin.';
COMMENT ON FUNCTION rowrun.settle_plans(bigint[], jsonb, boolean) IS 'Internal: events and rounds that marks name.';
COMMENT ON FUNCTION rowrun.check_plan(bigint) IS 'Internal: the plan exists, and nobody else makes runs of it.';
COMMENT ON FUNCTION rowrun.set_skipped(bigint, boolean, text) IS 'Internal: skips a task or takes that back.';
COMMENT ON FUNCTION rowrun.run_plan(bigint) IS 'A run for each NOT_STARTED task of a plan; the runs made.';
COMMENT ON FUNCTION rowrun.retry_plan(bigint) IS 'A retry for each FAILED or CANCELED task of a plan; the runs made.';
COMMENT ON FUNCTION rowrun.cancel_plan(bigint, text) IS 'Cancels the unfinished runs of a plan, or (RUNNING) asks for it; how many.';
COMMENT ON FUNCTION rowrun.skip_task(bigint, text) IS 'The task counts as done; refused while a run of it is AVAILABLE or RUNNING.';
COMMENT ON FUNCTION rowrun.unskip_task(bigint) IS 'The task is as its last run left it.';

INSERT INTO rowrun.migration (version) VALUES (9);
