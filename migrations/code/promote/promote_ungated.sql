-- Runs that only time and their own task hold, which are due now. Those that were due at their INSERT are AVAILABLE from it on.
CREATE OR REPLACE FUNCTION rowrun.promote_ungated(t timestamptz, most integer, request rowrun.claim_request,
    OUT promoted integer, OUT more boolean, OUT claims rowrun.claimed_run[]) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    ids bigint[];
    step record;
    tasks bigint[];
    closed bigint[];
    causes text[];
    held bigint[];
BEGIN
    ids := ARRAY(SELECT r.id FROM task_run r
                 WHERE r.judge_at <= t AND r.plan_id IS NULL AND r.database_id IS NULL AND r.status = 'PENDING'
                 ORDER BY r.judge_at LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED);
    promoted := 0;
    claims := '{}';
    more := cardinality(ids) > 0 AND cardinality(ids) >= least(most, 1000);
    IF cardinality(ids) = 0 THEN
        RETURN;
    END IF;
    ids := ids[1:2 * most];
    IF may_be_limited() THEN
        ids := put_limited_aside(ids);
        IF cardinality(ids) = 0 THEN
            RETURN;
        END IF;
    END IF;
    step := let_start(ARRAY(
        SELECT r.id FROM task_run r JOIN task k ON k.id = r.task_id
        WHERE r.id = ANY (ids) AND rowrun.own_cause(k, r.missed_at, t) IS NULL AND (r.after IS NULL OR NOT rowrun.awaits_runs(r.id))), t, request);
    promoted := cardinality(step.ids);
    claims := step.claims;
    IF promoted < cardinality(ids) THEN
        -- The lock on the task orders this against the user who unpauses it: either its mark is seen later, or the task is
        -- not paused any more. Who holds a task that can't be locked may be unpausing it, and its mark be taken before these runs are seen to
        -- be held: they leave one of their own.
        tasks := ARRAY(SELECT k.id FROM task k
                       WHERE k.id IN (SELECT r.task_id FROM task_run r WHERE r.id = ANY (ids) AND coalesce(r.status, '') = 'PENDING')
                       ORDER BY k.id FOR SHARE SKIP LOCKED);
        SELECT array_agg(c.id), array_agg(c.cause) INTO closed, causes
        FROM (SELECT r.id, coalesce(rowrun.own_cause(k, r.missed_at, t), CASE WHEN r.after IS NOT NULL AND rowrun.awaits_runs(r.id) THEN 'DEPENDENCY' END) AS cause
              FROM task_run r JOIN task k ON k.id = r.task_id
              WHERE r.id = ANY (ids) AND coalesce(r.status, '') = 'PENDING') c
        WHERE c.cause IS NOT NULL;
        IF causes && '{SKIPPED,MISSED}' THEN
            held := held_by_tasks(closed, causes);
            IF held <> '{}' THEN -- they are due still, and looked at by the next pass
                SELECT array_agg(v.id), array_agg(v.cause) INTO closed, causes FROM unnest(closed, causes) v(id, cause) WHERE v.id <> ALL (held);
            END IF;
        END IF;
        PERFORM write_causes(closed, causes);
        IF 'PAUSED' = ANY (causes) THEN
            INSERT INTO gate_mark (kind, task_id)
            SELECT DISTINCT 'PAUSED', r.task_id FROM unnest(closed, causes) v(id, cause) JOIN task_run r ON r.id = v.id
            WHERE v.cause = 'PAUSED' AND r.task_id <> ALL (tasks);
        END IF;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.promote_ungated(timestamptz, integer, rowrun.claim_request) IS 'Internal: promotes runs without plan and database.';
