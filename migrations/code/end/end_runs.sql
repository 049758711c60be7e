-- Ends RUNNING runs, as one statement's worth of work: compare-and-set on (id, RUNNING, claim), successors, and by
-- the triggers what hangs on it. claims[i] NULL asks for no claim. statuses[i] is DONE or FAILED; a run of which a
-- cancel was asked for ends CANCELED instead of FAILED. retries[i]: FAILURE (counts against max_attempts), STALE
-- (on_stale decides), NONE. The rows are locked before they are judged, so that nothing changes in between. Rows that are returned were recorded; the others had ended or belong to somebody else.
-- plan_tasks names the tasks of those runs that belong to plans; NULL: it is looked up.
CREATE OR REPLACE FUNCTION rowrun.end_runs(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[],
    plan_tasks bigint[] DEFAULT NULL)
    RETURNS TABLE (run_id bigint, status text, retry_run_id bigint)
    LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := clock_timestamp();
    ended bigint[];
    plans bigint[] := '{}';
    announced boolean;
    ended_as text[];
    successors bigint[];
    items text[];
    databases text[];
    of_plans boolean;
    refused boolean;
    kept bigint[];
    over bigint[];
    handled boolean;
BEGIN
    -- The order of locks: plans (their rounds may get their events), their tasks (the outcome changes), then runs, each
    -- by id.
    IF plan_tasks IS NULL THEN
        plan_tasks := ARRAY(SELECT r.task_id FROM rowrun.task_run r WHERE r.id = ANY (run_ids) AND num_nonnulls(r.plan_id) = 1);
    END IF;
    IF cardinality(plan_tasks) > 0 THEN
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
    END IF;

    IF 'DONE' = ALL (statuses) THEN
        -- What ended well needs no look at anything but the row itself.
        WITH done AS (
            UPDATE rowrun.task_run r
            SET status = 'DONE', prev_status = 'RUNNING', by_hand = NULL, finished_at = t, updated_at = t, claim_hash = NULL,
                result = i.result
            FROM unnest(run_ids, claims, results) AS i(id, claim, result)
            WHERE r.id = i.id AND coalesce(r.status, '') = 'RUNNING'
              AND (i.claim IS NULL OR r.claim_hash = sha256(uuid_send(i.claim)))
            RETURNING r.id, r.status, r.plan_id, r.database_id, r.tick, r.result ? 'state' AS kept, rowrun.transition(r) AS item,
                jsonb_typeof(r.result) <> 'object' OR (pg_column_size(r.result) >= 2000 AND (octet_length(r.result::text) > 1048576 OR rowrun.too_deep(r.result))) AS bad
        )
        SELECT array_agg(d.id), array_agg(d.status), array_agg(NULL::bigint), array_agg(d.item),
               array_agg(DISTINCT d.database_id) FILTER (WHERE d.database_id IS NOT NULL), bool_or(d.plan_id IS NOT NULL),
               bool_or(d.bad), array_agg(d.id) FILTER (WHERE d.kept), array_agg(d.id) FILTER (WHERE d.tick IS NOT NULL)
        INTO ended, ended_as, successors, items, databases, of_plans, refused, kept, over
        FROM done d;
    ELSE
        -- Locked first, judged later: a cancel that is asked for now waits, or is seen.
        PERFORM FROM rowrun.task_run r WHERE r.id = ANY (run_ids) ORDER BY r.id FOR NO KEY UPDATE;
        WITH changed AS (
            UPDATE rowrun.task_run r
            SET status = v.status, prev_status = 'RUNNING', by_hand = NULL, finished_at = t, updated_at = t,
                claim_hash = CASE WHEN v.status = 'CANCELED' THEN r.claim_hash END,
                result = v.result,
                retry_run_id = CASE WHEN v.again THEN rowrun.next_run_id() END
            FROM (
                SELECT i.id,
                       CASE WHEN i.status = 'FAILED' AND x.cancel_requested_at IS NOT NULL THEN 'CANCELED'
                            WHEN i.status = 'FAILED' AND i.retry = 'STALE' AND k.on_stale = 'CANCEL' THEN 'CANCELED'
                            ELSE i.status END AS status,
                       i.status = 'FAILED' AND k.on_failure_task IS NOT NULL AS handled,
                       CASE WHEN i.status = 'FAILED' AND x.cancel_requested_at IS NOT NULL THEN
                                coalesce(i.result, '{}') || jsonb_build_object('code', 'CANCELED', 'detail',
                                    'Task run canceled' || coalesce(': ' || x.cancel_reason, '')
                                    || CASE WHEN coalesce(i.result ->> 'code', 'CANCELED') = 'CANCELED' THEN ''
                                            ELSE ' (' || (i.result ->> 'code') || ': ' || coalesce(i.result ->> 'detail', '') || ')' END)
                            ELSE coalesce(i.result, '{}') END AS result,
                       i.status = 'FAILED' AND x.cancel_requested_at IS NULL AND NOT k.skipped
                           -- Its input was not written for statements or a command.
                           AND (k.type = x.type OR k.type NOT IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND'))
                           AND ((i.retry = 'FAILURE' AND x.failures < k.max_attempts - 1)
                                OR (i.retry = 'STALE' AND k.on_stale = 'RETRY' AND x.recoveries < 5)) AS again
                FROM unnest(run_ids, claims, statuses, results, retries) AS i(id, claim, status, result, retry)
                JOIN rowrun.task_run x ON x.id = i.id
                JOIN rowrun.task k ON k.id = x.task_id
                WHERE coalesce(x.status, '') = 'RUNNING' AND (i.claim IS NULL OR x.claim_hash = sha256(uuid_send(i.claim)))
            ) v
            WHERE r.id = v.id
            RETURNING r.id, r.status, r.retry_run_id, r.plan_id, r.database_id, r.tick,
                r.status = 'DONE' AND r.result ? 'state' AS kept, rowrun.transition(r) AS item,
                jsonb_typeof(r.result) <> 'object' OR (pg_column_size(r.result) >= 2000 AND (octet_length(r.result::text) > 1048576 OR rowrun.too_deep(r.result))) AS bad,
                v.handled
        )
        SELECT array_agg(c.id), array_agg(c.status), array_agg(c.retry_run_id), array_agg(c.item),
               array_agg(DISTINCT c.database_id) FILTER (WHERE c.database_id IS NOT NULL), bool_or(c.plan_id IS NOT NULL),
               bool_or(c.bad), bool_or(c.handled),
               array_agg(c.id) FILTER (WHERE c.kept), array_agg(c.id) FILTER (WHERE c.tick IS NOT NULL AND c.retry_run_id IS NULL)
        INTO ended, ended_as, successors, items, databases, of_plans, refused, handled, kept, over
        FROM changed c;
    END IF;
    IF refused THEN
        RAISE EXCEPTION 'result of a run is a JSON object of at most 1 MiB and 1,000 levels'
            USING ERRCODE = 'check_violation', HINT = 'Keep large data elsewhere and leave a reference.';
    END IF;
    PERFORM rowrun.announce(items);
    IF of_plans THEN
        PERFORM rowrun.mark_ended(ended);
    ELSIF databases IS NOT NULL THEN -- all that mark_ended would do, without a look at the rows
        INSERT INTO rowrun.gate_mark (kind, database_id) SELECT 'DATABASE', unnest(databases);
    END IF;

    IF array_remove(successors, NULL) <> '{}' THEN
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
    END IF;
    IF handled THEN
        PERFORM rowrun.handle_ended(ended);
    END IF;
    IF kept IS NOT NULL OR over IS NOT NULL THEN
        PERFORM rowrun.schedule_ended(kept, over);
    END IF;
    IF cardinality(plans) > 0 THEN
        PERFORM rowrun.announce_plans(plans);
    END IF;
    RETURN QUERY SELECT e.id, e.status, e.successor FROM unnest(ended, ended_as, successors) AS e(id, status, successor);
END $$;
COMMENT ON FUNCTION rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]) IS 'Internal: ends RUNNING runs and makes their successors.';
