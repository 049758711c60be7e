-- Ends RUNNING runs, as one statement's worth of work: compare-and-set on (id, RUNNING, claim), successors, and by
-- the triggers what hangs on it. claims[i] NULL asks for no claim. statuses[i] is DONE or FAILED; a run of which a
-- cancel was asked for ends CANCELED instead of FAILED. retries[i]: FAILURE (counts against max_attempts), STALE
-- (on_stale decides), RELEASED (a successor that counts against nothing), SNOOZED (the same, later, as the result says), NONE. The rows are locked before they are judged, so that nothing changes in between. Rows that are returned were recorded; the others had ended or belong to somebody else.
-- plan_tasks names the tasks of those runs that belong to plans; NULL: it is looked up. marks_plans: a mark for each of their plans, as
-- slots have come free; false where the caller fills them (rowrun.promote_next_of_plans).
CREATE OR REPLACE FUNCTION rowrun.end_batch(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[],
    plan_tasks bigint[], marks_plans boolean)
    RETURNS TABLE (run_id bigint, status text, retry_run_id bigint, finished_at timestamptz)
    LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := clock_timestamp();
    plans bigint[] := '{}';
    recurring bigint[] := '{}'; -- tasks of schedules
    successors bigint[];
    handled boolean; -- NULL: all ended well
    ended record;
BEGIN
    IF plan_tasks IS NULL THEN
        plan_tasks := ARRAY(SELECT r.task_id FROM rowrun.task_run r WHERE r.id = ANY (run_ids) AND num_nonnulls(r.plan_id) = 1);
    END IF;
    IF cardinality(plan_tasks) < cardinality(run_ids) THEN -- the end of a run with a tick makes the next, and a state is kept: by the task
        recurring := ARRAY(SELECT r.task_id FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
                           WHERE r.id = ANY (run_ids) AND num_nonnulls(r.plan_id) = 0
                             AND (num_nonnulls(r.tick) = 1 OR num_nonnulls(k.schedule) = 1 AND (SELECT bool_or(s.result ? 'state') FROM unnest(results) s(result))));
    END IF;
    IF cardinality(plan_tasks || recurring) > 0 THEN
        plans := rowrun.lock_plans_of_ends(plan_tasks || recurring, run_ids, statuses);
    END IF;
    IF ('DONE' = ALL (statuses)) IS NOT TRUE THEN -- what ended well needs no look at anything but the row itself
        -- Locked first, judged later: a cancel that is asked for now waits, or is seen.
        PERFORM FROM rowrun.task_run r WHERE r.id = ANY (run_ids) ORDER BY r.id FOR NO KEY UPDATE;
        SELECT array_agg(j.id), array_agg(j.claim), array_agg(j.status), array_agg(j.result), array_agg(j.retry),
               array_agg(CASE WHEN j.again THEN rowrun.next_run_id() END), bool_or(j.handled)
        INTO run_ids, claims, statuses, results, retries, successors, handled
        FROM (SELECT * FROM rowrun.judge_ends(run_ids, claims, statuses, results, retries) ORDER BY id) j; -- successors come in that order too
    END IF;
    ended := rowrun.make_ended(run_ids, claims, statuses, results, successors, t);
    IF ended.of_plans THEN
        PERFORM rowrun.mark_ended(ended.ids, marks_plans);
    ELSIF ended.databases IS NOT NULL THEN -- all that mark_ended would do, without a look at the rows
        INSERT INTO rowrun.gate_mark (kind, database_id) SELECT 'DATABASE', unnest(ended.databases);
    END IF;
    IF rowrun.may_be_limited() THEN
        PERFORM rowrun.free_limits(ended.ids);
    END IF;
    IF array_remove(ended.successors, NULL) <> '{}' THEN
        PERFORM rowrun.insert_successors(run_ids, retries, ended.successors, t);
    END IF;
    IF handled IS NOT NULL THEN
        IF handled THEN
            PERFORM rowrun.handle_ended(ended.ids);
        END IF;
        IF array_position(ended.successors, NULL) > 0 THEN -- one look at an index, for who wants to know of failures
            IF EXISTS (SELECT FROM rowrun.webhook w WHERE w.enabled AND 'RUN_FAILED' = ANY (w.events)) THEN
                PERFORM rowrun.announce_failures(ended.ids);
            END IF;
        END IF;
    END IF;
    IF ended.kept IS NOT NULL OR ended.ticked IS NOT NULL THEN
        PERFORM rowrun.schedule_ended(ended.kept, ended.ticked);
    END IF;
    IF cardinality(plans) > 0 THEN
        PERFORM rowrun.announce_plans(plans);
    END IF;
    RETURN QUERY SELECT e.id, e.status, e.successor, t FROM unnest(ended.ids, ended.statuses, ended.successors) AS e(id, status, successor);
END $$;
COMMENT ON FUNCTION rowrun.end_batch(bigint[], uuid[], text[], jsonb[], text[], bigint[], boolean) IS 'Internal: ends RUNNING runs and makes their successors.';

-- The same, with a mark for each of their plans.
CREATE OR REPLACE FUNCTION rowrun.end_runs(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[],
    plan_tasks bigint[] DEFAULT NULL)
    RETURNS TABLE (run_id bigint, status text, retry_run_id bigint, finished_at timestamptz)
    LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT e.run_id, e.status, e.retry_run_id, e.finished_at FROM end_batch(run_ids, claims, statuses, results, retries, plan_tasks, true) e;
END $$;
COMMENT ON FUNCTION rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]) IS 'Internal: ends RUNNING runs, whatever they are.';
