-- What psql users and replicas both do: one text of each rule. SQLSTATEs RR001 to RR006 as in the guards; RR002: the
-- claim is wrong or outdated.

-- Ids for rows that the sidecar makes: the next of the sequence that is free. Rows that were restored may be ahead of it,
-- and what stands as the root of a chain whose first run is gone is no new run's. Asked only where a row is made beside
-- others that must not fail with it; an INSERT of a user's draws its id as ever.
CREATE FUNCTION rowrun.next_run_id() RETURNS bigint LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, rowrun, pg_temp
    SET enable_seqscan = off
AS $$
DECLARE
    drawn bigint;
BEGIN
    LOOP
        drawn := nextval('rowrun.task_run_id_seq');
        EXIT WHEN NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.id = drawn)
              AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.root_id = drawn AND r.attempt > 0 AND r.retry_run_id IS NULL);
    END LOOP;
    RETURN drawn;
END $$;
CREATE FUNCTION rowrun.next_log_id() RETURNS bigint LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, rowrun, pg_temp
    SET enable_seqscan = off
AS $$
DECLARE
    drawn bigint;
BEGIN
    LOOP
        drawn := nextval('rowrun.task_run_log_id_seq');
        EXIT WHEN NOT EXISTS (SELECT FROM rowrun.task_run_log l WHERE l.id = drawn);
    END LOOP;
    RETURN drawn;
END $$;
COMMENT ON FUNCTION rowrun.next_run_id() IS 'Internal: the next free id of a run.';
COMMENT ON FUNCTION rowrun.next_log_id() IS 'Internal: the next free id of a row in a run''s log.';

-- Ends RUNNING runs, as one statement's worth of work: compare-and-set on (id, RUNNING, claim), successors, and by
-- the triggers what hangs on it. claims[i] NULL asks for no claim. statuses[i] is DONE or FAILED; a run of which a
-- cancel was asked for ends CANCELED instead of FAILED. retries[i]: FAILURE (counts against max_attempts), STALE
-- (on_stale decides), NONE. The rows are locked before they are judged, so that nothing changes in between. Rows that are returned were recorded; the others had ended or belong to somebody else.
-- plan_tasks names the tasks of those runs that belong to plans; NULL: it is looked up.
CREATE FUNCTION rowrun.end_runs(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[],
    plan_tasks bigint[] DEFAULT NULL)
    RETURNS TABLE (run_id bigint, status text, retry_run_id bigint)
    LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := clock_timestamp();
    plans bigint[] := '{}';
    successors bigint[];
    handled boolean;
    ended record;
BEGIN
    IF plan_tasks IS NULL THEN
        plan_tasks := ARRAY(SELECT r.task_id FROM rowrun.task_run r WHERE r.id = ANY (run_ids) AND num_nonnulls(r.plan_id) = 1);
    END IF;
    IF cardinality(plan_tasks) > 0 THEN
        plans := rowrun.lock_plans_of_ends(plan_tasks, run_ids, statuses);
    END IF;
    IF ('DONE' = ALL (statuses)) IS NOT TRUE THEN -- what ended well needs no look at anything but the row itself
        -- Locked first, judged later: a cancel that is asked for now waits, or is seen.
        PERFORM FROM rowrun.task_run r WHERE r.id = ANY (run_ids) ORDER BY r.id FOR NO KEY UPDATE;
        SELECT array_agg(j.id), array_agg(j.claim), array_agg(j.status), array_agg(j.result), array_agg(j.retry),
               array_agg(CASE WHEN j.again THEN rowrun.next_run_id() END), bool_or(j.handled)
        INTO run_ids, claims, statuses, results, retries, successors, handled
        FROM rowrun.judge_ends(run_ids, claims, statuses, results, retries) j;
    END IF;
    ended := rowrun.make_ended(run_ids, claims, statuses, results, successors, t);
    IF ended.of_plans THEN
        PERFORM rowrun.mark_ended(ended.ids);
    ELSIF ended.databases IS NOT NULL THEN -- all that mark_ended would do, without a look at the rows
        INSERT INTO rowrun.gate_mark (kind, database_id) SELECT 'DATABASE', unnest(ended.databases);
    END IF;
    IF array_remove(ended.successors, NULL) <> '{}' THEN
        PERFORM rowrun.insert_successors(run_ids, retries, ended.successors, t);
    END IF;
    IF handled THEN
        PERFORM rowrun.handle_ended(ended.ids);
    END IF;
    IF ended.kept IS NOT NULL OR ended.ticked IS NOT NULL THEN
        PERFORM rowrun.schedule_ended(ended.kept, ended.ticked);
    END IF;
    IF cardinality(plans) > 0 THEN
        PERFORM rowrun.announce_plans(plans);
    END IF;
    RETURN QUERY SELECT e.id, e.status, e.successor FROM unnest(ended.ids, ended.statuses, ended.successors) AS e(id, status, successor);
END $$;
COMMENT ON FUNCTION rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]) IS 'Internal: ends RUNNING runs and makes their successors.';

-- The order of locks: plans (their rounds may get their events), their tasks (the outcome changes), then runs, each by id.
-- Returns the plans that may have an event.
CREATE FUNCTION rowrun.lock_plans_of_ends(plan_tasks bigint[], run_ids bigint[], statuses text[]) RETURNS bigint[] LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    plans bigint[];
    announced boolean;
BEGIN
    -- A plan of which something is PENDING isn't complete, and ends that went well are no event of it: it needn't be
    -- held. (If that run too ends before this transaction does, the mark has the next pass ask.) It is looked for
    -- from the newest on: the entries of those that were promoted first are still passed by a look from the other side.
    SELECT coalesce(array_agg(p.id), '{}'), coalesce(bool_or(p.announced_round >= p.round), false) INTO plans, announced
    FROM (SELECT p.id, p.round, p.announced_round FROM rowrun.plan p
          WHERE p.id = ANY (ARRAY(SELECT k.plan_id FROM rowrun.task k WHERE k.id = ANY (plan_tasks)))
            AND NOT ('DONE' = ALL (statuses) AND p.announced_round < p.round
                     AND (SELECT u.id FROM rowrun.task_run u WHERE u.plan_id = p.id AND u.status = 'PENDING'
                          ORDER BY u.id DESC LIMIT 1) IS NOT NULL)
          ORDER BY p.id FOR NO KEY UPDATE) p;
    PERFORM FROM rowrun.task k WHERE k.id = ANY (plan_tasks) ORDER BY k.id FOR NO KEY UPDATE;
    IF announced THEN -- by hand, or inserted while the plan was just being announced
        PERFORM rowrun.begin_rounds(ARRAY(SELECT r.id FROM rowrun.task_run r WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'RUNNING'), true);
    END IF;
    RETURN plans;
END $$;
COMMENT ON FUNCTION rowrun.lock_plans_of_ends(bigint[], bigint[], text[]) IS 'Internal: locks plans and tasks whose runs end; the plans that may have an event.';

-- How runs end of which some failed: whether a cancel was asked for, whether a successor follows and somebody handles the
-- failure. Inlined where it is called.
CREATE FUNCTION rowrun.judge_ends(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[])
    RETURNS TABLE (id bigint, claim uuid, status text, result jsonb, retry text, again boolean, handled boolean) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT i.id, i.claim,
           CASE WHEN i.status = 'FAILED' AND x.cancel_requested_at IS NOT NULL THEN 'CANCELED'
                WHEN i.status = 'FAILED' AND i.retry = 'STALE' AND k.on_stale = 'CANCEL' THEN 'CANCELED'
                ELSE i.status END,
           CASE WHEN i.status = 'FAILED' AND x.cancel_requested_at IS NOT NULL THEN
                    coalesce(i.result, '{}') || jsonb_build_object('code', 'CANCELED', 'detail',
                        'Task run canceled' || coalesce(': ' || x.cancel_reason, '')
                        || CASE WHEN coalesce(i.result ->> 'code', 'CANCELED') = 'CANCELED' THEN ''
                                ELSE ' (' || (i.result ->> 'code') || ': ' || coalesce(i.result ->> 'detail', '') || ')' END)
                ELSE coalesce(i.result, '{}') END,
           i.retry,
           i.status = 'FAILED' AND x.cancel_requested_at IS NULL AND NOT k.skipped
               -- Its input was not written for statements or a command.
               AND (k.type = x.type OR k.type NOT IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND'))
               AND ((i.retry = 'FAILURE' AND x.failures < k.max_attempts - 1)
                    OR (i.retry = 'STALE' AND k.on_stale = 'RETRY' AND x.recoveries < 5)),
           i.status = 'FAILED' AND k.on_failure_task IS NOT NULL
    FROM unnest(judge_ends.run_ids, judge_ends.claims, judge_ends.statuses, judge_ends.results, judge_ends.retries)
        AS i(id, claim, status, result, retry)
    JOIN rowrun.task_run x ON x.id = i.id
    JOIN rowrun.task k ON k.id = x.task_id
    WHERE coalesce(x.status, '') = 'RUNNING' AND (i.claim IS NULL OR x.claim_hash = sha256(uuid_send(i.claim)));
END;
COMMENT ON FUNCTION rowrun.judge_ends(bigint[], uuid[], text[], jsonb[], text[]) IS 'Internal: how runs end of which some failed.';

-- The transition RUNNING -> DONE, FAILED or CANCELED: compare-and-set on (id, RUNNING, claim), with the notification. The
-- claim of a canceled run stays, so that its executor is told. kept: runs with a state to keep; ticked: those of a schedule
-- that have no successor.
CREATE FUNCTION rowrun.make_ended(run_ids bigint[], claims uuid[], end_statuses text[], results jsonb[], successor_ids bigint[], t timestamptz,
    OUT ids bigint[], OUT statuses text[], OUT successors bigint[], OUT databases text[], OUT of_plans boolean,
    OUT kept bigint[], OUT ticked bigint[]) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    items text[];
    refused boolean;
BEGIN
    WITH changed AS (
        UPDATE rowrun.task_run r
        SET status = i.status, prev_status = 'RUNNING', by_hand = NULL, finished_at = t, updated_at = t,
            claim_hash = CASE WHEN i.status = 'CANCELED' THEN r.claim_hash END, result = i.result, retry_run_id = i.successor
        FROM unnest(run_ids, claims, end_statuses, results, successor_ids) AS i(id, claim, status, result, successor)
        WHERE r.id = i.id AND coalesce(r.status, '') = 'RUNNING'
          AND (i.claim IS NULL OR r.claim_hash = sha256(uuid_send(i.claim)))
        RETURNING r.id, r.status, r.retry_run_id, r.plan_id, r.database_id, r.tick,
            r.status = 'DONE' AND r.result ? 'state' AS kept, rowrun.transition(r) AS item,
            jsonb_typeof(r.result) <> 'object' OR (pg_column_size(r.result) >= 2000 AND (octet_length(r.result::text) > 1048576 OR rowrun.too_deep(r.result))) AS bad
    )
    SELECT array_agg(c.id), array_agg(c.status), array_agg(c.retry_run_id), array_agg(c.item),
           array_agg(DISTINCT c.database_id) FILTER (WHERE c.database_id IS NOT NULL), bool_or(c.plan_id IS NOT NULL),
           bool_or(c.bad), array_agg(c.id) FILTER (WHERE c.kept), array_agg(c.id) FILTER (WHERE c.tick IS NOT NULL AND c.retry_run_id IS NULL)
    INTO ids, statuses, successors, items, databases, of_plans, refused, kept, ticked
    FROM changed c;
    IF refused THEN
        RAISE EXCEPTION 'result of a run is a JSON object of at most 1 MiB and 1,000 levels'
            USING ERRCODE = 'check_violation', HINT = 'Keep large data elsewhere and leave a reference.';
    END IF;
    PERFORM rowrun.announce(items);
END $$;
COMMENT ON FUNCTION rowrun.make_ended(bigint[], uuid[], text[], jsonb[], bigint[], timestamptz) IS 'Internal: the transition from RUNNING to an end.';

-- The runs that follow runs which have just ended, with the ids that those name.
CREATE FUNCTION rowrun.insert_successors(run_ids bigint[], retries text[], successors bigint[], t timestamptz) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.task_run (id, task_id, retry_of, root_id, attempt, input, priority, creator, round, tick, run_at, failures, recoveries)
    SELECT r.retry_run_id, r.task_id, r.id, r.root_id, least(r.attempt, 2147483646) + 1, r.input, r.priority, r.creator, r.round, r.tick,
           CASE i.retry WHEN 'STALE' THEN t
                ELSE t + least(interval '1 hour', least(k.retry_delay, interval '1 hour')
                               * power(2, least(r.failures, 20)) * (0.8 + 0.4 * random())) END,
           least(r.failures, 2147483646) + CASE i.retry WHEN 'STALE' THEN 0 ELSE 1 END,
           CASE i.retry WHEN 'STALE' THEN least(r.recoveries, 2147483646) + 1 ELSE 0 END
    FROM unnest(run_ids, retries) AS i(id, retry)
    JOIN rowrun.task_run r ON r.id = i.id
    JOIN rowrun.task k ON k.id = r.task_id
    WHERE r.retry_run_id = ANY (successors);
END $$;
COMMENT ON FUNCTION rowrun.insert_successors(bigint[], text[], bigint[], timestamptz) IS 'Internal: the runs that follow runs which have ended.';

CREATE FUNCTION rowrun.check_isolation() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'rowrun''s functions need READ COMMITTED, this transaction is %', upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Call them in a transaction of their own, or begin it with ISOLATION LEVEL READ COMMITTED.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.check_isolation() IS 'Internal: refuses isolation levels above READ COMMITTED.';

CREATE FUNCTION rowrun.define_task(name text, type text, payload jsonb DEFAULT '{}', queue text DEFAULT NULL,
    database_id text DEFAULT NULL, version text DEFAULT NULL, sequential boolean DEFAULT NULL, priority integer DEFAULT NULL,
    timeout interval DEFAULT NULL, progress_timeout interval DEFAULT NULL, max_attempts integer DEFAULT NULL,
    retry_delay interval DEFAULT NULL, on_stale text DEFAULT NULL, labels jsonb DEFAULT NULL)
    RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    made bigint;
BEGIN
    IF coalesce(define_task.name, '') = '' THEN
        RAISE EXCEPTION 'define_task needs a name' USING ERRCODE = 'RR003', HINT = 'The name is how run_task finds it.';
    END IF;
    INSERT INTO rowrun.task AS k (name, type, payload, queue, database_id, version, sequential, priority, timeout,
                                  progress_timeout, max_attempts, retry_delay, on_stale, labels)
    VALUES (define_task.name, define_task.type, define_task.payload, define_task.queue, define_task.database_id,
            define_task.version, define_task.sequential, define_task.priority, define_task.timeout,
            define_task.progress_timeout, define_task.max_attempts, define_task.retry_delay, define_task.on_stale,
            define_task.labels)
    ON CONFLICT (name) WHERE name <> '' AND plan_id IS NULL DO UPDATE
    SET type = excluded.type, payload = excluded.payload, queue = excluded.queue, database_id = excluded.database_id,
        version = excluded.version, sequential = excluded.sequential, priority = excluded.priority,
        timeout = excluded.timeout, progress_timeout = excluded.progress_timeout, max_attempts = excluded.max_attempts,
        retry_delay = excluded.retry_delay, on_stale = excluded.on_stale, labels = excluded.labels
    WHERE (k.type, k.payload, k.queue, k.database_id, k.version, k.sequential, k.priority, k.timeout, k.progress_timeout,
           k.max_attempts, k.retry_delay, k.on_stale, k.labels)
          IS DISTINCT FROM
          (excluded.type, excluded.payload, excluded.queue, excluded.database_id, excluded.version, excluded.sequential,
           excluded.priority, excluded.timeout, excluded.progress_timeout, excluded.max_attempts, excluded.retry_delay,
           excluded.on_stale, excluded.labels)
    RETURNING k.id INTO made;
    IF made IS NULL THEN
        SELECT k.id INTO made FROM rowrun.task k WHERE k.name = define_task.name AND k.plan_id IS NULL;
    END IF;
    RETURN made;
END $$;
COMMENT ON FUNCTION rowrun.define_task IS 'Makes a task without a plan, or brings it up to date; its id. For migration files.';

CREATE FUNCTION rowrun.run_task(task bigint, input jsonb DEFAULT '{}', run_at timestamptz DEFAULT now(),
    priority integer DEFAULT NULL, idempotency_key text DEFAULT NULL)
    RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    made bigint;
BEGIN
    IF run_task.idempotency_key IS NULL THEN
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority)
        VALUES (run_task.task, run_task.input, run_task.run_at, run_task.priority) RETURNING r.id INTO made;
        RETURN made;
    END IF;
    FOR i IN 1..10 LOOP
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
        VALUES (run_task.task, run_task.input, run_task.run_at, run_task.priority, run_task.idempotency_key)
        ON CONFLICT (task_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
        RETURNING r.id INTO made;
        IF made IS NULL THEN
            SELECT r.id INTO made FROM rowrun.task_run r
            WHERE r.task_id = run_task.task AND r.idempotency_key = run_task.idempotency_key;
        END IF;
        EXIT WHEN made IS NOT NULL;
    END LOOP;
    RETURN made;
END $$;
COMMENT ON FUNCTION rowrun.run_task(bigint, jsonb, timestamptz, integer, text) IS 'Inserts a run of a task; its id, or that of the run that has the key.';

CREATE FUNCTION rowrun.run_task(task text, input jsonb DEFAULT '{}', run_at timestamptz DEFAULT now(),
    priority integer DEFAULT NULL, idempotency_key text DEFAULT NULL)
    RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    found_id bigint;
BEGIN
    SELECT k.id INTO found_id FROM rowrun.task k WHERE k.name = run_task.task AND k.name <> '' AND k.plan_id IS NULL;
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'there is no task named "%"', run_task.task
            USING ERRCODE = 'no_data_found', HINT = 'Define it: SELECT rowrun.define_task(name, type, payload).';
    END IF;
    RETURN rowrun.run_task(found_id, run_task.input, run_task.run_at, run_task.priority, run_task.idempotency_key);
END $$;
COMMENT ON FUNCTION rowrun.run_task(text, jsonb, timestamptz, integer, text) IS 'The same, by the name of a task without a plan.';

CREATE FUNCTION rowrun.run_tasks(task_ids bigint[], run_at timestamptz DEFAULT now()) RETURNS SETOF bigint
    LANGUAGE sql
BEGIN ATOMIC
    INSERT INTO rowrun.task_run (task_id, run_at)
    SELECT k.id, run_tasks.run_at
    FROM (SELECT DISTINCT u.id FROM unnest(run_tasks.task_ids) u(id)) w JOIN rowrun.task k ON k.id = w.id
    WHERE k.plan_id IS NULL
       OR (NOT k.skipped AND NOT EXISTS (
               SELECT FROM rowrun.task_run u WHERE u.task_id = k.id AND u.plan_id IS NOT NULL
               AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING')))
    ORDER BY k.id
    ON CONFLICT (task_id) WHERE plan_id IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING') DO NOTHING
    RETURNING id;
END;
COMMENT ON FUNCTION rowrun.run_tasks(bigint[], timestamptz) IS 'A run for each of these tasks, but for a plan''s tasks that are skipped or have an unfinished run; the runs made.';

CREATE FUNCTION rowrun.cancel_run(run_id bigint, reason text DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    run record;
    last bigint := cancel_run.run_id;
BEGIN
    PERFORM check_isolation();
    -- The end of a run with a tick makes the next, by its task: that is locked first.
    PERFORM FROM task k WHERE k.id = (SELECT r.task_id FROM task_run r WHERE r.id = cancel_run.run_id AND r.tick IS NOT NULL)
        FOR NO KEY UPDATE;
    LOOP
        -- The chain's last run, whichever of its runs was named; again if a successor came while we waited for the lock.
        SELECT r.id INTO last FROM task_run c JOIN task_run r ON r.root_id = c.root_id AND r.attempt > 0 AND r.retry_run_id IS NULL
        WHERE c.id = cancel_run.run_id AND (c.attempt > 0 OR c.retry_run_id IS NOT NULL);
        SELECT r.id, r.status, r.retry_run_id, r.cancel_requested_at, r.replica_id INTO run
        FROM task_run r WHERE r.id = coalesce(last, cancel_run.run_id) FOR NO KEY UPDATE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'run % does not exist', cancel_run.run_id USING ERRCODE = 'no_data_found', HINT = 'It may have been removed by retention.';
        END IF;
        EXIT WHEN run.retry_run_id IS NULL;
    END LOOP;
    IF run.status IN ('PENDING', 'AVAILABLE') OR (run.status = 'RUNNING' AND run.replica_id IS NULL) THEN
        UPDATE task_run r SET status = 'CANCELED', cancel_requested_at = clock_timestamp(), cancel_reason = cancel_run.reason
        WHERE r.id = run.id;
        RETURN 'CANCELED';
    END IF;
    IF run.status = 'RUNNING' AND run.cancel_requested_at IS NULL THEN
        UPDATE task_run r SET cancel_requested_at = clock_timestamp(), cancel_reason = cancel_run.reason WHERE r.id = run.id;
    END IF;
    RETURN run.status;
END $$;
COMMENT ON FUNCTION rowrun.cancel_run(bigint, text) IS 'Cancels the last run of a chain: at once, or (RUNNING) asks for it; the status after it.';

CREATE FUNCTION rowrun.retry_run(run_id bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    run record;
    made bigint;
BEGIN
    PERFORM check_isolation();
    PERFORM FROM task k WHERE k.id = (SELECT r.task_id FROM task_run r WHERE r.id = retry_run.run_id AND r.plan_id IS NOT NULL)
        FOR NO KEY UPDATE;
    SELECT * INTO run FROM task_run r WHERE r.id = retry_run.run_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'run % does not exist', retry_run.run_id USING ERRCODE = 'no_data_found', HINT = 'It may have been removed by retention.';
    END IF;
    IF run.retry_run_id IS NOT NULL THEN
        RETURN run.retry_run_id;
    END IF;
    IF run.status NOT IN ('FAILED', 'CANCELED') THEN
        RAISE EXCEPTION 'run % is %: only FAILED and CANCELED runs are retried', run.id, run.status
            USING ERRCODE = 'RR004', HINT = 'To do a DONE task once more, insert another run.';
    END IF;
    IF run.plan_id IS NOT NULL AND run.id <> (SELECT s.last_run_id FROM task_status s WHERE s.task_id = run.task_id) THEN
        RAISE EXCEPTION 'run % is not the newest of task %', run.id, run.task_id
            USING ERRCODE = 'RR004', HINT = 'Retry the newest run of that task.';
    END IF;
    IF EXISTS (SELECT FROM task k WHERE k.id = run.task_id AND k.skipped) THEN
        RAISE EXCEPTION 'task % is skipped', run.task_id USING ERRCODE = 'RR004', HINT = 'Unskip it first.';
    END IF;
    made := next_run_id();
    UPDATE task_run r SET retry_run_id = made WHERE r.id = run.id;
    INSERT INTO task_run (id, task_id, retry_of, root_id, attempt, input, priority, creator)
    VALUES (made, run.task_id, run.id, run.root_id, least(run.attempt, 2147483646) + 1, run.input, run.priority, session_user);
    IF NOT is_quiet() THEN
        PERFORM notify_look();
    END IF;
    RETURN made;
END $$;
COMMENT ON FUNCTION rowrun.retry_run(bigint) IS 'A successor for a FAILED or CANCELED run; its id, or that of the one it has.';

CREATE FUNCTION rowrun.abandon_run(run_id bigint, reason text DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ended text;
BEGIN
    PERFORM check_isolation();
    SELECT e.status INTO ended FROM end_runs(ARRAY[abandon_run.run_id], ARRAY[NULL::uuid], ARRAY['FAILED'],
        ARRAY[jsonb_build_object('code', 'ABANDONED', 'detail', 'Task run abandoned' || coalesce(': ' || abandon_run.reason, ''))],
        ARRAY['NONE']) e;
    IF ended IS NULL THEN
        RAISE EXCEPTION 'run % is not RUNNING', abandon_run.run_id USING ERRCODE = 'RR004', HINT = 'Runs that wait are canceled: rowrun.cancel_run.';
    END IF;
    RETURN ended;
END $$;
COMMENT ON FUNCTION rowrun.abandon_run(bigint, text) IS 'Ends a RUNNING run whose executor doesn''t: FAILED, code ABANDONED, no automatic successor.';

CREATE FUNCTION rowrun.report_progress(run_id bigint, claim uuid, progress jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    canceled boolean;
BEGIN
    UPDATE task_run r SET progress = report_progress.progress, progress_at = clock_timestamp(), prev_status = NULL
    WHERE r.id = report_progress.run_id AND r.status = 'RUNNING' AND r.claim_hash = sha256(uuid_send(report_progress.claim))
    RETURNING r.cancel_requested_at IS NOT NULL INTO canceled;
    IF canceled IS NULL THEN
        PERFORM FROM task_run r WHERE r.id = report_progress.run_id AND r.status = 'CANCELED'
            AND r.claim_hash = sha256(uuid_send(report_progress.claim));
        IF NOT FOUND THEN
            RAISE EXCEPTION 'run % is not held by this claim', report_progress.run_id
                USING ERRCODE = 'RR002', HINT = 'The run has ended or was given to another attempt; stop working on it.';
        END IF;
        canceled := true;
    END IF;
    RETURN canceled;
END $$;
COMMENT ON FUNCTION rowrun.report_progress(bigint, uuid, jsonb) IS 'Stores progress; true: a cancel was asked for.';

CREATE FUNCTION rowrun.complete_run(run_id bigint, claim uuid, result jsonb DEFAULT '{}') RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ended text;
BEGIN
    PERFORM check_isolation();
    SELECT e.status INTO ended FROM end_runs(ARRAY[complete_run.run_id], ARRAY[coalesce(complete_run.claim, gen_random_uuid())],
        ARRAY['DONE'], ARRAY[coalesce(complete_run.result, '{}')], ARRAY['NONE']) e;
    IF ended IS NULL THEN
        RAISE EXCEPTION 'run % is not held by this claim', complete_run.run_id
            USING ERRCODE = 'RR002', HINT = 'The run has ended or was given to another attempt.';
    END IF;
    RETURN ended;
END $$;
COMMENT ON FUNCTION rowrun.complete_run(bigint, uuid, jsonb) IS 'For the app that an HTTP task called: the run is DONE.';

CREATE FUNCTION rowrun.fail_run(run_id bigint, claim uuid, detail text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ended text;
BEGIN
    PERFORM check_isolation();
    SELECT e.status INTO ended FROM end_runs(ARRAY[fail_run.run_id], ARRAY[coalesce(fail_run.claim, gen_random_uuid())],
        ARRAY['FAILED'], ARRAY[jsonb_build_object('code', 'ERROR', 'detail', left(coalesce(fail_run.detail, ''), 100000))],
        ARRAY['FAILURE']) e;
    IF ended IS NULL THEN
        RAISE EXCEPTION 'run % is not held by this claim', fail_run.run_id
            USING ERRCODE = 'RR002', HINT = 'The run has ended or was given to another attempt.';
    END IF;
    RETURN ended;
END $$;
COMMENT ON FUNCTION rowrun.fail_run(bigint, uuid, text) IS 'For the app that an HTTP task called: the run FAILED; it may be retried.';

-- Deleting. The right to DELETE from a table would be one to LOCK it as well, so that others have functions. What they
-- may delete follows from who may execute which: rowrun_client what isn't for authors, rowrun_author everything. The
-- functions that people call run with their caller's rights, and name what is missing.
CREATE FUNCTION rowrun.remove_task(task_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM task k WHERE k.id = remove_task.task_id AND NOT is_authors(k.type);
    RETURN FOUND;
END $$;
CREATE FUNCTION rowrun.remove_any_task(task_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM task k WHERE k.id = remove_any_task.task_id;
    RETURN FOUND;
END $$;
CREATE FUNCTION rowrun.delete_task(task_id bigint) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    found_type text;
    gone boolean;
BEGIN
    SELECT k.type INTO found_type FROM task k WHERE k.id = delete_task.task_id;
    IF is_authors(found_type) AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may delete tasks of type %', found_type
            USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT rowrun_author TO the role, or let an author delete the task.';
    ELSIF is_authors(found_type) THEN
        gone := remove_any_task(delete_task.task_id);
    ELSE
        gone := remove_task(delete_task.task_id);
    END IF;
    IF NOT gone THEN
        RAISE EXCEPTION 'task % does not exist', coalesce(delete_task.task_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.task.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.remove_task(bigint) IS 'Internal: deletes a task that isn''t for authors.';
COMMENT ON FUNCTION rowrun.remove_any_task(bigint) IS 'Internal: deletes a task.';
COMMENT ON FUNCTION rowrun.delete_task(bigint) IS 'Deletes a task with its runs; refused while one is AVAILABLE or RUNNING.';

-- A plan is locked before its tasks are looked at, so that none comes in between.
CREATE FUNCTION rowrun.remove_plan(plan_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    PERFORM FROM plan p WHERE p.id = remove_plan.plan_id FOR UPDATE;
    DELETE FROM plan p WHERE p.id = remove_plan.plan_id
        AND NOT EXISTS (SELECT FROM task k WHERE k.plan_id = remove_plan.plan_id AND is_authors(k.type));
    RETURN FOUND;
END $$;
CREATE FUNCTION rowrun.remove_any_plan(plan_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM plan p WHERE p.id = remove_any_plan.plan_id;
    RETURN FOUND;
END $$;
CREATE FUNCTION rowrun.delete_plan(plan_id bigint) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    authors boolean := EXISTS (SELECT FROM task k WHERE k.plan_id = delete_plan.plan_id AND is_authors(k.type));
    gone boolean;
BEGIN
    IF authors AND NOT is_author() THEN
        RAISE EXCEPTION 'plan % has tasks that only members of rowrun_author may delete', delete_plan.plan_id
            USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT rowrun_author TO the role, or let an author delete the plan.';
    ELSIF authors THEN
        gone := remove_any_plan(delete_plan.plan_id);
    ELSE
        gone := remove_plan(delete_plan.plan_id);
    END IF;
    IF NOT gone THEN
        RAISE EXCEPTION 'plan % does not exist', coalesce(delete_plan.plan_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.plan.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.remove_plan(bigint) IS 'Internal: deletes a plan without tasks for authors.';
COMMENT ON FUNCTION rowrun.remove_any_plan(bigint) IS 'Internal: deletes a plan.';
COMMENT ON FUNCTION rowrun.delete_plan(bigint) IS 'Deletes a plan with its tasks and runs; refused while a run is AVAILABLE or RUNNING.';

CREATE FUNCTION rowrun.remove_dependency(task_id bigint, depends_on_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM task_dependency d WHERE d.task_id = remove_dependency.task_id AND d.depends_on_id = remove_dependency.depends_on_id
        AND NOT EXISTS (SELECT FROM task k WHERE k.id = d.task_id AND is_authors(k.type));
    RETURN FOUND;
END $$;
CREATE FUNCTION rowrun.remove_any_dependency(task_id bigint, depends_on_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM task_dependency d
    WHERE d.task_id = remove_any_dependency.task_id AND d.depends_on_id = remove_any_dependency.depends_on_id;
    RETURN FOUND;
END $$;
CREATE FUNCTION rowrun.delete_dependency(task_id bigint, depends_on_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    authors boolean := EXISTS (SELECT FROM task k WHERE k.id = delete_dependency.task_id AND is_authors(k.type));
    gone boolean;
BEGIN
    IF authors AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may say what task % waits for', delete_dependency.task_id
            USING ERRCODE = 'insufficient_privilege', HINT = 'It is of a type that authors write. GRANT rowrun_author TO the role, or let an author do it.';
    ELSIF authors THEN
        gone := remove_any_dependency(delete_dependency.task_id, delete_dependency.depends_on_id);
    ELSE
        gone := remove_dependency(delete_dependency.task_id, delete_dependency.depends_on_id);
    END IF;
    IF NOT gone THEN
        RAISE EXCEPTION 'task % does not depend on task %', coalesce(delete_dependency.task_id::text, 'NULL'), coalesce(delete_dependency.depends_on_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for it in rowrun.task_dependency.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.remove_dependency(bigint, bigint) IS 'Internal: deletes a dependency of a task that isn''t for authors.';
COMMENT ON FUNCTION rowrun.remove_any_dependency(bigint, bigint) IS 'Internal: deletes a dependency.';
COMMENT ON FUNCTION rowrun.delete_dependency(bigint, bigint) IS 'The task doesn''t wait for the other any more.';

-- Views. A chain ends with the run that has no successor.
CREATE VIEW rowrun.job WITH (security_invoker = true) AS
SELECT r.id AS root_id, r.task_id, r.status, r.id AS last_run_id, 1 AS attempts, r.plan_id, r.created_at, r.run_at,
       r.started_at, r.finished_at, r.progress, r.result
FROM rowrun.task_run r WHERE r.attempt = 0 AND r.retry_run_id IS NULL
UNION ALL
SELECT r.root_id, r.task_id, r.status, r.id, least(r.attempt, 2147483646) + 1, r.plan_id, r.created_at, r.run_at,
       r.started_at, r.finished_at, r.progress, r.result
FROM rowrun.task_run r WHERE r.attempt > 0 AND r.retry_run_id IS NULL;
COMMENT ON VIEW rowrun.job IS 'One row per chain of retries: its first run''s id and how its last run stands.';

CREATE VIEW rowrun.task_status WITH (security_invoker = true) AS
SELECT k.id AS task_id, k.plan_id, k.name, k.type,
       CASE WHEN k.skipped THEN 'SKIPPED' ELSE coalesce(n.status, 'NOT_STARTED') END AS status,
       n.id AS last_run_id, n.result
FROM rowrun.task k
LEFT JOIN LATERAL (
    -- The newest run of a plan's task is the one that was unfinished last, whatever its id: the one that is, or else
    -- the last that ended. The highest id only counts where no end was ever recorded.
    SELECT x.id, x.status, x.result FROM (
        (SELECT r.id, r.status, r.result, 0 AS place FROM rowrun.task_run r
         WHERE k.plan_id IS NOT NULL AND r.task_id = k.id AND r.plan_id IS NOT NULL
           AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') LIMIT 1)
        UNION ALL
        (SELECT r.id, r.status, r.result, 1 FROM rowrun.task_run r
         WHERE k.plan_id IS NOT NULL AND r.id = k.outcome_run_id)
        UNION ALL
        (SELECT r.id, r.status, r.result, 2 FROM rowrun.task_run r
         WHERE k.plan_id IS NOT NULL AND r.task_id = k.id AND r.plan_id IS NOT NULL ORDER BY r.id DESC LIMIT 1)
        UNION ALL
        (SELECT r.id, r.status, r.result, 2 FROM rowrun.task_run r
         WHERE k.plan_id IS NULL AND r.task_id = k.id ORDER BY r.id DESC LIMIT 1)
    ) x ORDER BY x.place LIMIT 1
) n ON true;
COMMENT ON VIEW rowrun.task_status IS 'A task''s status is that of its newest run; NOT_STARTED without one; SKIPPED where it is skipped.';

-- For plans of 10,000 tasks: counted from what the tasks remember, with one look at the plan's unfinished runs of each
-- status (as IN, which is hashed; a join may be planned as a nested loop), each status by its place in the order of
-- display: numbers are compared faster than words.
CREATE VIEW rowrun.plan_status WITH (security_invoker = true) AS
SELECT p.id AS plan_id, p.project, p.name, p.round, p.paused,
       CASE WHEN s.failed > 0 THEN 'FAILED' WHEN s.running > 0 THEN 'RUNNING' WHEN s.available > 0 THEN 'AVAILABLE'
            WHEN s.pending > 0 THEN 'PENDING' WHEN s.canceled > 0 THEN 'CANCELED'
            WHEN s.tasks > 0 AND s.done + s.skipped = s.tasks THEN 'DONE' ELSE 'NOT_STARTED' END AS status,
       s.tasks, s.not_started, s.pending, s.available, s.running, s.done, s.skipped, s.failed, s.canceled
FROM rowrun.plan p
CROSS JOIN LATERAL (
    SELECT count(*) AS tasks,
           count(*) FILTER (WHERE x.place = 1) AS not_started,
           count(*) FILTER (WHERE x.place = 2) AS pending,
           count(*) FILTER (WHERE x.place = 3) AS available,
           count(*) FILTER (WHERE x.place = 4) AS running,
           count(*) FILTER (WHERE x.place = 5) AS done,
           count(*) FILTER (WHERE x.place = 6) AS skipped,
           count(*) FILTER (WHERE x.place = 7) AS failed,
           count(*) FILTER (WHERE x.place = 8) AS canceled
    FROM (
        SELECT CASE WHEN k.skipped THEN 6
                    WHEN k.id IN (SELECT u.task_id FROM rowrun.task_run u WHERE u.plan_id = p.id AND u.status = 'PENDING') THEN 2
                    WHEN k.id IN (SELECT u.task_id FROM rowrun.task_run u WHERE u.plan_id = p.id AND u.status = 'AVAILABLE') THEN 3
                    WHEN k.id IN (SELECT u.task_id FROM rowrun.task_run u WHERE u.plan_id = p.id AND u.status = 'RUNNING') THEN 4
                    ELSE CASE k.outcome WHEN 'DONE' THEN 5 WHEN 'FAILED' THEN 7 WHEN 'CANCELED' THEN 8 ELSE 1 END END AS place
        FROM rowrun.task k WHERE k.plan_id = p.id OFFSET 0
    ) x
) s;
COMMENT ON VIEW rowrun.plan_status IS 'A plan''s status, first that fits: FAILED, RUNNING, AVAILABLE, PENDING, CANCELED, DONE, NOT_STARTED; and how many tasks have which.';

CREATE VIEW rowrun.replica_status WITH (security_invoker = true) AS
SELECT h.replica_id, h.name, h.hostname, h.version, h.state, h.started_at, h.last_heartbeat, h.lease,
       h.state <> 'DEAD' AND h.last_heartbeat + h.lease > clock_timestamp() AS live,
       h.queues, h.types, h.databases, h.commands, h.concurrency,
       (SELECT count(*) FROM rowrun.task_run r WHERE r.replica_id = h.replica_id AND r.status = 'RUNNING') AS running,
       h.replica_id = (SELECT d.stream_replica_id FROM rowrun.deployment d) AS stream
FROM rowrun.replica_heartbeat h;
COMMENT ON VIEW rowrun.replica_status IS 'The replicas, whether they are alive and what they run.';

CREATE VIEW rowrun.failed_run WITH (security_invoker = true) AS
SELECT r.id AS run_id, r.root_id, r.task_id, k.name AS task, r.plan_id, r.type, r.queue, r.database_id, r.version, r.attempt,
       r.finished_at, r.replica_id, r.result ->> 'code' AS code, r.result ->> 'detail' AS detail
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
WHERE r.status = 'FAILED' AND r.retry_run_id IS NULL
ORDER BY r.finished_at DESC;
COMMENT ON VIEW rowrun.failed_run IS 'Runs that failed for good, newest first.';

INSERT INTO rowrun.migration (version) VALUES (6);
