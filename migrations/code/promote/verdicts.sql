-- The judgement of a pass: on which of these runs, and what follows from it for all of them together. undrawn: of some the row doesn't
-- say all limit keys, as limits were made after their INSERT. share_alone: all of them go, and have nothing but their turn (share_alone).
-- counted is what adopt_limits says.
CREATE OR REPLACE FUNCTION rowrun.verdicts_on(run_ids bigint[], turns bigint[], counted bigint[], OUT ids bigint[], OUT causes text[], OUT open_ids bigint[], OUT exclusive boolean,
    OUT crowded_out text[], OUT fresh text[], OUT freed text[], OUT t timestamptz,
    OUT waits text[], OUT limit_keys text[], OUT undrawn boolean, OUT full_keys text[], OUT share_alone boolean) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    locked bigint[];
    plans bigint[];
    last_mark bigint;
    of_plans boolean;
    late bigint[];
    busy record;
    shared record;
    held bigint[];
BEGIN
    share_alone := false;
    -- Rows that a user holds are left for later.
    SELECT coalesce(array_agg(r.id), '{}'), array_agg(DISTINCT r.plan_id) FILTER (WHERE r.plan_id IS NOT NULL)
    INTO locked, plans
    FROM (SELECT r.id, r.plan_id FROM task_run r WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING'
          ORDER BY r.id FOR NO KEY UPDATE SKIP LOCKED) r;
    IF cardinality(locked) < cardinality(run_ids) THEN
        INSERT INTO gate_mark (kind, run_id)
        SELECT DISTINCT 'RUN', c.id FROM unnest(run_ids) c(id)
        WHERE c.id <> ALL (locked)
          AND EXISTS (SELECT FROM task_run r WHERE r.id = c.id AND coalesce(r.status, '') = 'PENDING'
                      -- What promote_ungated holds may have been judged before its last job ended; what a limit holds has a time that the limit
                      -- may have had before it opened.
                      AND (r.judge_at IS NULL OR r.after IS NOT NULL OR r.limit_wait IS NOT NULL));
    END IF;

    -- Their moment is one before the next statement's snapshot, so that whatever gate was closed by then is seen closed; and
    -- not before an end that the snapshot sees. An end after t leaves its mark behind the last one now.
    last_mark := coalesce(pg_sequence_last_value('rowrun.gate_mark_id_seq'), 0);
    t := clock_timestamp();
    IF cardinality(locked) > 0 AND locked @> run_ids AND locked <@ turns THEN
        shared := share_alone(locked, t, last_mark);
        IF shared.limit_keys IS NOT NULL THEN
            ids := locked;
            open_ids := locked;
            causes := array_fill(NULL::text, ARRAY[cardinality(locked)]);
            waits := causes;
            exclusive := false;
            undrawn := false;
            t := shared.judged_at;
            limit_keys := shared.limit_keys;
            share_alone := true;
            RETURN;
        END IF;
    END IF;
    IF may_be_limited() THEN
        SELECT array_agg(v.id), array_agg(v.cause), coalesce(array_agg(v.id) FILTER (WHERE v.cause IS NULL), '{}'),
               bool_or(v.cause IS NULL AND v.exclusive), bool_or(v.cause IS NULL AND v.plan_id IS NOT NULL),
               array_agg(DISTINCT v.database_id) FILTER (WHERE v.crowded_out AND v.database_id IS NOT NULL),
               array_agg(DISTINCT v.database_id) FILTER (WHERE v.fresh), array_agg(DISTINCT v.database_id) FILTER (WHERE v.freed),
               max(v.judged_at), array_agg(v.limit_key), array_agg(DISTINCT v.limit_key) FILTER (WHERE v.is_full)
        INTO ids, causes, open_ids, exclusive, of_plans, crowded_out, fresh, freed, t, waits, full_keys
        FROM rowrun.judge_limited(locked, plans, t, last_mark, coalesce(turns, '{}')) v;
        SELECT coalesce(array_agg(DISTINCT k.limit_key), '{}'), coalesce(bool_or(r.limit_keys IS DISTINCT FROM s.limit_keys), false) INTO limit_keys, undrawn
        FROM rowrun.limited_of(ids) s JOIN task_run r ON r.id = s.id CROSS JOIN LATERAL unnest(s.limit_keys) k(limit_key);
        busy := busy_limits(open_ids, counted);
        IF busy.ids <> '{}' THEN -- as where a token waits for a slot: nobody tells when it may be taken
            SELECT array_agg(coalesce(b.cause, v.cause) ORDER BY v.n), array_agg(coalesce(b.limit_key, v.limit_key) ORDER BY v.n) INTO causes, waits
            FROM unnest(ids, causes, waits) WITH ORDINALITY v(id, cause, limit_key, n)
            LEFT JOIN (SELECT u.id, u.limit_key, 'LIMIT' AS cause FROM unnest(busy.ids, busy.limit_keys) u(id, limit_key)) b ON b.id = v.id;
            open_ids := ARRAY(SELECT o FROM unnest(open_ids) o WHERE o <> ALL (busy.ids));
            full_keys := full_keys || busy.limit_keys;
        END IF;
    ELSE
        SELECT array_agg(v.id), array_agg(v.cause), coalesce(array_agg(v.id) FILTER (WHERE v.cause IS NULL), '{}'),
               bool_or(v.cause IS NULL AND v.exclusive), bool_or(v.cause IS NULL AND v.plan_id IS NOT NULL),
               array_agg(DISTINCT v.database_id) FILTER (WHERE v.crowded_out AND v.database_id IS NOT NULL),
               array_agg(DISTINCT v.database_id) FILTER (WHERE v.fresh), array_agg(DISTINCT v.database_id) FILTER (WHERE v.freed),
               max(v.judged_at)
        INTO ids, causes, open_ids, exclusive, of_plans, crowded_out, fresh, freed, t
        FROM rowrun.judge(locked, plans, t, last_mark) v;
    END IF;

    IF of_plans THEN
        -- The first run of a round begins it, with the plan's row held; where somebody else holds that, it waits.
        late := rowrun.begin_rounds(open_ids, false);
        IF cardinality(late) > 0 THEN
            open_ids := ARRAY(SELECT o FROM unnest(open_ids) o WHERE o <> ALL (late));
            causes := ARRAY(SELECT CASE WHEN v.id = ANY (late) THEN 'PLAN' ELSE v.cause END
                           FROM unnest(ids, causes) WITH ORDINALITY v(id, cause, n) ORDER BY v.n);
            INSERT INTO gate_mark (kind, plan_id) SELECT DISTINCT 'PLAN', r.plan_id FROM task_run r WHERE r.id = ANY (late);
        END IF;
    END IF;

    IF causes && '{SKIPPED,MISSED}' THEN
        held := held_by_tasks(ids, causes);
        IF held <> '{}' THEN -- left for later, as are rows that a user holds
            INSERT INTO gate_mark (kind, run_id) SELECT 'RUN', h FROM unnest(held) h;
            SELECT array_agg(v.id ORDER BY v.n), array_agg(v.cause ORDER BY v.n), array_agg(v.limit_key ORDER BY v.n) INTO ids, causes, waits
            FROM unnest(ids, causes, waits) WITH ORDINALITY v(id, cause, limit_key, n) WHERE v.id <> ALL (held);
        END IF;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.verdicts_on(bigint[], bigint[], bigint[]) IS 'Internal: locks runs, judges them, and begins the rounds of those that go.';

-- Promotes what has every gate open, claims of that what the request takes, and notes what holds the others. turns are runs in the
-- order of their turns. redrawn: one that a limit holds has keys now that its turn was not chosen by.
CREATE OR REPLACE FUNCTION rowrun.apply_verdicts(v record, turns bigint[], request rowrun.claim_request,
    OUT promoted integer, OUT next_ms double precision, OUT claims rowrun.claimed_run[], OUT redrawn boolean) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    step record;
    ordered bigint[];
BEGIN
    promoted := 0;
    claims := '{}';
    redrawn := false;
    IF 'DATABASE' = ANY (v.causes) AND may_be_limited() THEN
        -- Before a run of this pass takes the last place of a limit: take_limits marks the databases that are written down by then.
        PERFORM note_limit_databases(v.ids, v.causes, v.t);
    END IF;
    IF cardinality(v.open_ids) > 0 THEN
        IF v.undrawn THEN
            PERFORM redraw_limits(v.open_ids);
        END IF;
        -- Only the runs that have a database to themselves need the savepoint.
        IF turns <> '{}' THEN
            step := let_start_in_turn(v.open_ids, turns, v.exclusive, v.t, request);
        ELSIF v.exclusive THEN
            step := let_start_singly(v.open_ids, v.t, request);
        ELSE
            step := let_start(v.open_ids, v.t, request);
        END IF;
        promoted := cardinality(step.ids);
        claims := step.claims;
        IF v.limit_keys <> '{}' THEN
            IF turns <> '{}' THEN
                ordered := ARRAY(SELECT o.id FROM unnest(turns) WITH ORDINALITY o(id, n) JOIN unnest(step.ids) i(id) ON i.id = o.id ORDER BY o.n);
            END IF;
            IF NOT v.share_alone OR NOT take_turns(ordered, true) THEN
                PERFORM take_limits(step.ids, v.t, true);
                IF turns <> '{}' THEN
                    PERFORM take_turns(ordered, false);
                END IF;
            END IF;
        END IF;
    END IF;
    IF cardinality(v.open_ids) < cardinality(v.ids) THEN
        IF 'LIMIT' = ANY (v.causes) THEN
            redrawn := write_limit_waits(v.ids, v.waits, v.causes);
        END IF;
        IF 'DEPENDENCY' = ANY (v.causes) THEN
            PERFORM mark_unseen_ends(v.ids, v.causes);
            next_ms := watch_awaited(v.ids, v.causes);
        END IF;
        PERFORM write_causes(v.ids, v.causes);
        IF 'RUN_AT' = ANY (v.causes) THEN
            -- Their marks had them judged before they are due: this pass is the only one that is sure to be told of their time.
            next_ms := least(next_ms, (SELECT extract(epoch FROM min(r.run_at) - v.t) * 1000
                        FROM task_run r JOIN unnest(v.ids, v.causes) h(id, cause) ON h.id = r.id WHERE h.cause = 'RUN_AT'));
        END IF;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.apply_verdicts(record, bigint[], rowrun.claim_request) IS 'Internal: promotes and claims runs, and notes what holds others.';

-- Whoever is just ending a task, or opening a wave, may not have seen that one of these waits for it. Whose tasks and wave can all be locked is
-- seen by their ends and its opening; where one is held, or the verdict is out of date by now, it is judged again, as often as that is so: another
-- dependency may have come since the row said that it waits.
CREATE OR REPLACE FUNCTION rowrun.mark_unseen_ends(run_ids bigint[], causes text[]) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    waiting bigint[] := ARRAY(SELECT v.id FROM unnest(run_ids, causes) v(id, cause) WHERE v.cause = 'DEPENDENCY');
    locked_tasks bigint[];
    locked_waves text[];
BEGIN
    locked_tasks := ARRAY(SELECT n.id FROM task n
                          WHERE n.id IN (SELECT d.depends_on_id FROM task_run r JOIN unmet_dependency d ON d.task_id = r.task_id
                                         WHERE r.id = ANY (waiting))
                          ORDER BY n.id FOR SHARE SKIP LOCKED);
    locked_waves := ARRAY(SELECT w.plan_id || ':' || w.wave FROM plan_wave w
                          WHERE w.opened_at IS NULL
                            AND (w.plan_id, w.wave) IN (SELECT k.plan_id, k.wave FROM task_run r JOIN task k ON k.id = r.task_id
                                                        WHERE r.id = ANY (waiting) AND k.wave IS NOT NULL)
                          ORDER BY w.plan_id, w.wave FOR SHARE SKIP LOCKED);
    INSERT INTO gate_mark (kind, run_id)
    SELECT 'RUN', r.id
    FROM task_run r JOIN task k ON k.id = r.task_id
    -- NULL: none of these holds it.
    CROSS JOIN LATERAL (SELECT bool_or(u.depends_on_id <> ALL (locked_tasks)) AS unseen FROM unmet_dependency u WHERE u.task_id = r.task_id) d
    CROSS JOIN LATERAL (SELECT bool_or(w.plan_id || ':' || w.wave <> ALL (locked_waves)) AS unseen FROM plan_wave w
                        WHERE w.plan_id = k.plan_id AND w.wave = k.wave AND w.opened_at IS NULL) c
    WHERE r.id = ANY (waiting) AND coalesce(d.unseen OR c.unseen, d.unseen, c.unseen, r.after IS NULL OR NOT awaits_runs(r.id));
END $$;
COMMENT ON FUNCTION rowrun.mark_unseen_ends(bigint[], text[]) IS 'Internal: marks of runs that wait for a task which may just be ending.';

-- Marks of what this pass itself may have opened or not got round to; whether there is any. of_plans and cut_off are the
-- candidates'. What waits on a database is asked by LIMIT 1, of each database: EXISTS becomes a join, which reads all that any
-- database holds.
CREATE OR REPLACE FUNCTION rowrun.leave_marks(v record, of_plans bigint[], cut_off text[]) RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    left_some boolean := 'SKIPPED' = ANY (v.causes) -- their ends have left marks
                         -- see write_limit_waits and take_limits
                         OR ('LIMIT' = ANY (v.causes) OR v.limit_keys <> '{}') AND EXISTS (SELECT FROM gate_mark m WHERE m.kind IN ('DATABASE', 'PLAN'));
BEGIN
    IF v.fresh IS NOT NULL THEN
        -- A version that came may hold a sequential run back, behind which others then needn't wait.
        INSERT INTO gate_mark (kind, database_id)
        SELECT 'DATABASE', d FROM unnest(v.fresh) d
        WHERE (SELECT true FROM task_run w WHERE w.database_id = d AND w.version_key IS NULL AND NOT w.sequential
               AND w.status = 'PENDING' AND w.cause = 'DATABASE' LIMIT 1)
          AND (SELECT true FROM task_run q WHERE q.database_id = d AND q.version_key IS NOT NULL AND q.sequential AND q.status = 'PENDING' LIMIT 1);
        left_some := left_some OR FOUND;
    END IF;
    IF v.freed IS NOT NULL THEN
        -- A sequential run that others waited behind, as mutual exclusion alone held it, and that something else holds now.
        INSERT INTO gate_mark (kind, database_id)
        SELECT 'DATABASE', d FROM unnest(v.freed) d
        WHERE (SELECT true FROM task_run w WHERE w.database_id = d AND w.status = 'PENDING' AND w.cause = 'DATABASE' LIMIT 1);
        left_some := left_some OR FOUND;
    END IF;
    IF cardinality(v.open_ids) > 0 THEN
        -- The same of sequential runs that are no candidates: a plan that has just given its last slot away holds them now.
        -- Runs of the same plan that wait behind them have no slot either. Where the first hundred are of that plan, a run of
        -- another one behind these waits for the next end on the database, or for a sweep.
        INSERT INTO gate_mark (kind, database_id)
        SELECT DISTINCT 'DATABASE', s.database_id
        FROM (SELECT DISTINCT r.plan_id FROM task_run r WHERE r.id = ANY (v.open_ids) AND num_nonnulls(r.plan_id) = 1) p
        CROSS JOIN LATERAL (
            SELECT r.database_id FROM task_run r
            WHERE r.plan_id = p.plan_id AND r.status = 'PENDING' AND r.cause = 'PLAN' AND r.sequential AND r.database_id > ''
            UNION ALL
            SELECT r.database_id FROM task_run r
            WHERE r.plan_id = p.plan_id AND r.status = 'PENDING' AND r.cause = 'DATABASE' AND r.sequential AND r.database_id > '') s
        WHERE (SELECT room.slots FROM rowrun.plan_room(p.plan_id) room) <= 0
          AND (SELECT bool_or(w.plan_id IS DISTINCT FROM p.plan_id)
               FROM (SELECT r.plan_id FROM task_run r
                     WHERE r.database_id = s.database_id AND r.status = 'PENDING' AND r.cause = 'DATABASE' LIMIT 100) w);
        left_some := left_some OR FOUND;
    END IF;
    IF num_nonnulls(v.crowded_out, cut_off) > 0 THEN
        INSERT INTO gate_mark (kind, database_id)
        SELECT DISTINCT 'DATABASE', d FROM unnest(coalesce(v.crowded_out, '{}') || coalesce(cut_off, '{}')) d
        WHERE EXISTS (SELECT FROM unnest(v.causes) h(cause) WHERE h.cause IS DISTINCT FROM 'DATABASE');
        left_some := left_some OR FOUND;
    END IF;
    IF cardinality(of_plans) > 0 THEN
        -- Runs that somebody holds, who may be canceling them, kept others out: as many are candidates as their plan has room for.
        INSERT INTO gate_mark (kind, plan_id, wide)
        SELECT DISTINCT 'PLAN', r.plan_id, true FROM task_run r
        WHERE r.id = ANY (of_plans) AND r.id <> ALL (coalesce(v.ids, '{}')) AND num_nonnulls(r.plan_id) = 1;
        INSERT INTO gate_mark (kind, plan_id, wide)
        SELECT 'PLAN', q.plan_id, q.wide
        FROM (SELECT r.plan_id, bool_or(h.cause IS NOT NULL) AS wide
              FROM task_run r JOIN unnest(v.ids, v.causes) h(id, cause) ON h.id = r.id
              WHERE r.id = ANY (of_plans) AND h.cause IS DISTINCT FROM 'PLAN' GROUP BY r.plan_id) q
        CROSS JOIN LATERAL rowrun.plan_room(q.plan_id) room
        WHERE room.open AND room.slots > 0
          AND EXISTS (SELECT FROM task_run r WHERE r.plan_id = q.plan_id AND r.status = 'PENDING' AND r.cause = 'PLAN');
        left_some := left_some OR FOUND;
    END IF;
    RETURN coalesce(left_some, false);
END $$;
COMMENT ON FUNCTION rowrun.leave_marks(record, bigint[], text[]) IS 'Internal: marks of what a pass may have opened or not got round to.';
