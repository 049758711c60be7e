-- What the marks of plans name, and at a sweep what has no mark: events that were not decided where their cause was
-- written by hand, rounds that were begun by hand. Plans that somebody holds keep their marks.
CREATE OR REPLACE FUNCTION rowrun.settle_plans(plan_ids bigint[], rounds jsonb, sweep boolean) RETURNS void LANGUAGE plpgsql
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
COMMENT ON FUNCTION rowrun.settle_plans(bigint[], jsonb, boolean) IS 'Internal: events and rounds that marks name.';
