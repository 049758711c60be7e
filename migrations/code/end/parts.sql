-- The order of locks: plans (their rounds may get their events), tasks (the outcome of those of plans changes, others get their
-- next run), then runs, each by id. plan_tasks may name tasks without a plan. Returns the plans that may have an event.
CREATE OR REPLACE FUNCTION rowrun.lock_plans_of_ends(plan_tasks bigint[], run_ids bigint[], statuses text[]) RETURNS bigint[] LANGUAGE plpgsql
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
CREATE OR REPLACE FUNCTION rowrun.judge_ends(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[])
    RETURNS TABLE (id bigint, claim uuid, status text, result jsonb, retry text, again boolean, handled boolean) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT i.id, i.claim,
           CASE WHEN i.status = 'FAILED' AND x.cancel_requested_at IS NOT NULL THEN 'CANCELED'
                WHEN i.status = 'FAILED' AND i.retry = 'STALE' AND k.on_stale = 'CANCEL' THEN 'CANCELED'
                ELSE i.status END,
           CASE WHEN i.status = 'FAILED' AND x.cancel_requested_at IS NOT NULL THEN
                    coalesce(i.result, '{}') || jsonb_build_object('code', 'CANCELED', 'detail',
                        'Task run canceled' || coalesce(': ' || x.cancel_reason, '')
                        || CASE WHEN coalesce(i.result ->> 'code', 'CANCELED') <> 'CANCELED'
                                    THEN ' (' || (i.result ->> 'code') || ': ' || coalesce(i.result ->> 'detail', '') || ')'
                                WHEN starts_with(i.result ->> 'detail', 'Task run canceled') THEN substr(i.result ->> 'detail', 18) -- what the executor said of it
                                WHEN i.result ->> 'detail' <> '' THEN ' (' || (i.result ->> 'detail') || ')'
                                ELSE '' END)
                ELSE coalesce(i.result, '{}') END,
           i.retry,
           i.status = 'FAILED' AND x.cancel_requested_at IS NULL AND NOT k.skipped
               -- Its input was not written for statements or a command.
               AND (k.type = x.type OR k.type NOT IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND'))
               AND (i.retry IN ('RELEASED', 'SNOOZED')
                    OR (i.retry = 'FAILURE' AND x.failures < k.max_attempts - 1)
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
CREATE OR REPLACE FUNCTION rowrun.make_ended(run_ids bigint[], claims uuid[], end_statuses text[], results jsonb[], successor_ids bigint[], t timestamptz,
    OUT ids bigint[], OUT statuses text[], OUT successors bigint[], OUT databases text[], OUT of_plans boolean,
    OUT kept bigint[], OUT ticked bigint[]) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    items text[];
    refused boolean;
BEGIN
    WITH changed AS (
        UPDATE rowrun.task_run r
        SET status = i.status, prev_status = 'RUNNING', edited_directly = NULL, finished_at = t, updated_at = greatest(t, r.updated_at + interval '1 us'),
            claim_hash = CASE WHEN i.status = 'CANCELED' THEN r.claim_hash END, result = i.result, retry_run_id = i.successor
        FROM unnest(run_ids, claims, end_statuses, results, successor_ids) AS i(id, claim, status, result, successor)
        WHERE r.id = i.id AND coalesce(r.status, '') = 'RUNNING'
          AND (i.claim IS NULL OR r.claim_hash = sha256(uuid_send(i.claim)))
        RETURNING r.id, r.status, r.retry_run_id, r.plan_id, r.database_id, r.tick,
            r.status = 'DONE' AND r.result ? 'state' AS kept, rowrun.transition(r) AS item,
            jsonb_typeof(r.result) <> 'object' OR rowrun.too_large(r.result) AS bad
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

-- For how long a run was put off, as its result says: a number of seconds, at most 100 years; 0 for anything else.
CREATE OR REPLACE FUNCTION rowrun.snooze_of(result jsonb) RETURNS interval LANGUAGE sql STABLE
    RETURN CASE WHEN jsonb_typeof(result -> 'snooze_seconds') = 'number'
                THEN make_interval(secs => least(greatest((result ->> 'snooze_seconds')::numeric, 0), 3155760000)::float8) ELSE interval '0' END;
COMMENT ON FUNCTION rowrun.snooze_of(jsonb) IS 'Internal: for how long a run was put off.';

-- The runs that follow runs which have just ended, with the ids that those name.
CREATE OR REPLACE FUNCTION rowrun.insert_successors(run_ids bigint[], retries text[], successors bigint[], t timestamptz) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.task_run (id, task_id, retry_of, root_id, attempt, input, priority, creator, round, tick, run_at, failures, recoveries)
    SELECT r.retry_run_id, r.task_id, r.id, r.root_id, least(r.attempt, 2147483646) + 1, r.input, r.priority, r.creator, r.round, r.tick,
           CASE WHEN i.retry IN ('STALE', 'RELEASED') THEN t
                WHEN i.retry = 'SNOOZED' THEN t + rowrun.snooze_of(r.result)
                ELSE t + least(w.delay, interval '2 hours' - w.delay) END, -- beyond an hour: as much below it
           least(r.failures, 2147483646) + CASE i.retry WHEN 'FAILURE' THEN 1 ELSE 0 END,
           CASE i.retry WHEN 'STALE' THEN least(r.recoveries, 2147483646) + 1 WHEN 'RELEASED' THEN r.recoveries WHEN 'SNOOZED' THEN r.recoveries ELSE 0 END
    FROM unnest(run_ids, retries) AS i(id, retry)
    JOIN rowrun.task_run r ON r.id = i.id
    JOIN rowrun.task k ON k.id = r.task_id
    CROSS JOIN LATERAL (SELECT least(interval '1 hour', least(k.retry_delay, interval '1 hour') * power(2, least(r.failures, 20)))
                               * (0.8 + 0.4 * random()) AS delay) w
    WHERE r.retry_run_id = ANY (successors);
END $$;
COMMENT ON FUNCTION rowrun.insert_successors(bigint[], text[], bigint[], timestamptz) IS 'Internal: the runs that follow runs which have ended.';
