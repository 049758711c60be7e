-- The next round of a plan whose row the caller holds, unless it has begun: what was announced is over.
CREATE OR REPLACE FUNCTION rowrun.begin_round(plan_id bigint, next integer, by_run boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    UPDATE plan p SET round = begin_round.next, retry_count = least(p.retry_count, 2147483646) + begin_round.by_run::int
    WHERE p.id = begin_round.plan_id AND p.round < begin_round.next;
    IF FOUND THEN
        DELETE FROM webhook_delivery_log l WHERE l.plan_id = begin_round.plan_id;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.begin_round(bigint, integer, boolean) IS 'Internal: the next round of a plan that the caller holds.';

-- Plans whose next round runs belong to. A run that was inserted while its plan was just being announced as completed, or
-- its task's failure was, carries the old round. A run that was promoted while somebody's skip of its task wasn't
-- committed yet belongs to none: the task counts as done. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.next_rounds(run_ids bigint[]) RETURNS TABLE (plan_id bigint) LANGUAGE sql STABLE
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
COMMENT ON FUNCTION rowrun.next_rounds(bigint[]) IS 'Internal: plans whose next round runs belong to.';

-- The rounds that runs begin which are promoted now, or were by hand. Where somebody holds the plan (wait false), its
-- runs are returned instead.
CREATE OR REPLACE FUNCTION rowrun.begin_rounds(run_ids bigint[], wait boolean) RETURNS bigint[] LANGUAGE plpgsql
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
COMMENT ON FUNCTION rowrun.begin_rounds(bigint[], boolean) IS 'Internal: the rounds that runs begin.';
