-- What a pass would do for plans of which runs have just ended, where that is simple: as many of the plan's runs as it has
-- room for are held by the plan alone, without a database, and their own gates are open. That is most of what a plan with a
-- limit does, and takes a fraction of a pass, because it needs no mark and no judgement of candidates against each other. A
-- plan of which that can't be said gets a mark for the next pass, as does one that may be complete, or whose round may be
-- over. It promotes under the lock of the passes, and asks gates as they do (rowrun.plan_room, rowrun.closed_gate); the
-- ends were written by a statement before, which has left marks for what else they open. What of that the request takes, if there
-- is one, is RUNNING at once: the claims. marked: there is something for a pass.
CREATE OR REPLACE FUNCTION rowrun.promote_next_of_plans(plan_tasks bigint[], most integer, request rowrun.claim_request DEFAULT NULL,
    OUT promoted integer, OUT marked integer, OUT claims rowrun.claimed_run[]) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    last_mark bigint;
    t timestamptz;
    plans bigint[] := ARRAY(SELECT DISTINCT k.plan_id FROM rowrun.task k WHERE k.id = ANY (plan_tasks) AND k.plan_id IS NOT NULL);
    firsts record;
    step record;
BEGIN
    promoted := 0;
    marked := 1;
    claims := '{}';
    IF NOT rowrun.lock_promotion() THEN
        INSERT INTO rowrun.gate_mark (kind, plan_id) SELECT 'PLAN', unnest(plans);
        RETURN;
    END IF;
    last_mark := coalesce(pg_sequence_last_value('rowrun.gate_mark_id_seq'), 0);
    t := clock_timestamp(); -- as in verdicts_on
    WITH rival AS MATERIALIZED (
        -- Plans of which a mark may bring others, who would come before those that have waited.
        SELECT m.kind, coalesce((SELECT k.plan_id FROM rowrun.task k WHERE k.id = m.task_id),
                                (SELECT r.plan_id FROM rowrun.task_run r WHERE r.id = m.run_id), m.plan_id) AS plan_id
        FROM rowrun.gate_mark m WHERE m.kind NOT IN ('DATABASE', 'PLAN', 'PLAN_FAILED')
    ), candidate AS MATERIALIZED (
        SELECT l.id AS plan_id, c.id, c.simple AND l.round > l.announced_round AND coalesce(l.round >= c.round, true) AS simple, room.slots
        FROM unnest(plans) p(id)
        CROSS JOIN LATERAL (SELECT l.id, l.round, l.announced_round FROM rowrun.plan l WHERE l.id = p.id AND l.parallel_limit IS NOT NULL OFFSET 0) l
        CROSS JOIN LATERAL rowrun.plan_room(l.id) room
        CROSS JOIN LATERAL (
            SELECT r.id, r.round, r.database_id IS NULL AND g.cause IS NULL
                   AND (NOT rowrun.may_be_limited() OR NOT EXISTS (SELECT FROM rowrun.limited_of(ARRAY[r.id]))) AS simple
            FROM (SELECT r.* FROM rowrun.task_run r WHERE r.plan_id = l.id AND r.status = 'PENDING' AND r.cause = 'PLAN'
                  ORDER BY r.priority DESC, r.run_at, r.id LIMIT least(room.slots, most)) r
            CROSS JOIN LATERAL rowrun.closed_gate(r, true, t) g) c
        WHERE room.open AND room.slots > 0
    ), locked AS MATERIALIZED (
        SELECT r.id, r.plan_id FROM rowrun.task_run r
        WHERE r.id = ANY (ARRAY(SELECT c.id FROM candidate c WHERE c.simple))
          AND coalesce(r.status, '') = 'PENDING' AND r.cause = 'PLAN' -- then it is due as well
        FOR NO KEY UPDATE SKIP LOCKED
    ), served AS MATERIALIZED (
        SELECT c.plan_id FROM candidate c LEFT JOIN locked l ON l.id = c.id GROUP BY c.plan_id
        HAVING bool_and(l.id IS NOT NULL) AND max(c.slots) <= most
           AND NOT EXISTS (SELECT FROM rival m WHERE m.plan_id = c.plan_id OR m.kind = 'NO_REPLICA')
           -- So may one that has become due. What is on a database, and has had no look yet, comes behind this end: no index names
           -- it by its plan alone.
           AND NOT EXISTS (SELECT FROM rowrun.task_run r
                           WHERE r.judge_at IS NOT NULL AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
                             AND (coalesce(r.database_id, ''), coalesce(r.plan_id, 0), r.judge_at) >= ('', c.plan_id, timestamptz '-infinity')
                             AND (coalesce(r.database_id, ''), coalesce(r.plan_id, 0), r.judge_at) <= ('', c.plan_id, t))
           -- These may hold others back on their databases, or no more.
           AND (SELECT true FROM rowrun.task_run r WHERE r.plan_id = c.plan_id AND r.status = 'PENDING' AND r.cause = 'PLAN'
                AND r.sequential AND r.database_id > '' LIMIT 1) IS NULL
    )
    SELECT ARRAY(SELECT l.id FROM locked l JOIN served s ON s.plan_id = l.plan_id) AS ids,
           ARRAY(SELECT s.plan_id FROM served s) AS served, greatest(t, (SELECT max(m.at) FROM rowrun.gate_mark m WHERE m.id > last_mark)) AS t
    INTO firsts;
    IF cardinality(firsts.ids) > 0 THEN
        step := rowrun.let_start(firsts.ids, firsts.t, request);
        promoted := cardinality(step.ids);
        claims := step.claims;
    END IF;
    IF cardinality(firsts.served) < cardinality(plans) OR promoted < cardinality(firsts.ids) THEN
        INSERT INTO rowrun.gate_mark (kind, plan_id)
        SELECT 'PLAN', p.id FROM unnest(plans) p(id) WHERE promoted < cardinality(firsts.ids) OR p.id <> ALL (firsts.served);
    END IF;
    marked := EXISTS (SELECT FROM rowrun.gate_mark)::integer;
END $$;
COMMENT ON FUNCTION rowrun.promote_next_of_plans(bigint[], integer, rowrun.claim_request) IS 'Internal: promotes what takes the slots that have come free in plans, or leaves a mark.';

