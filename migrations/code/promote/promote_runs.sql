-- One promote pass: PENDING -> AVAILABLE for what has every gate open, and -> RUNNING at once for what of that the request
-- takes, if there is one: the claims. Returns how many were promoted, whether another
-- replica was at it (look again in some ms), whether there is more to do now, and in how many ms the next run is due, or turns are given again (follow_turns).
-- "most" is how many runs and marks it takes on at once: a replica whose pass took longer than its statements may asks
-- for fewer, because the same pass would fail again, for ever. Lists are read as far as ever and cut then: a limit that
-- the planner doesn't know would have it choose other indexes.
--
-- Runs without plan and database have no gate to be exact about: any number of replicas promotes them side by side,
-- SKIP LOCKED. All others are judged under one lock (rowrun.promotion_lock), held by this one statement's transaction: what it
-- counts can then only fall behind the truth by runs that end, which opens gates and closes none. Each inner statement
-- has a snapshot of its own, taken after the lock: the steps are VOLATILE functions in PL/pgSQL for that.
--
-- A pass waits for no row of a user's: each is locked SKIP LOCKED before it is written. One that waits all the same is undone as a whole, and
-- followed by one without gates (store.Batch.DoWithout). No subtransaction undoes the judgement alone: rows would carry its number, and who
-- reads the stream from rows knows those of transactions.
--
-- The settings hold for the steps too. A step is an assignment, because the same call in a FROM takes twice as long. Where
-- a step only reads, its text is a function in SQL that becomes part of the step's statement: it must not be VOLATILE, nor
-- bring settings.
--
-- Where rows are named by id, status is asked as coalesce(status, ''): otherwise a partial index on that status, empty
-- when the statistics were made, looks cheaper than the key, and each of its rows is compared with each id. The same
-- goes for plan_id IS NOT NULL.
CREATE OR REPLACE FUNCTION rowrun.promote_runs(sweep boolean DEFAULT false, free boolean DEFAULT true, most integer DEFAULT 1000,
    request rowrun.claim_request DEFAULT NULL,
    OUT promoted integer, OUT busy boolean, OUT more boolean, OUT next_ms double precision, OUT claims rowrun.claimed_run[])
    LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
    SET jit = off
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET lock_timeout = '200ms'
AS $$
DECLARE
    t timestamptz := clock_timestamp();
    marked boolean;
    due boolean;
    marks record;
    found_runs record;
    verdicts record;
    step record;
    limit_keys text[];
    full_keys text[];
    held bigint[];
    counted bigint[];
    rooms jsonb;
BEGIN
    promoted := 0;
    busy := false;
    more := false;
    claims := '{}';
    IF free THEN -- unless a statement of the same transaction has just looked for them
        step := promote_ungated(t, most, request);
        promoted := step.promoted;
        more := step.more;
        claims := step.claims;
        request.used := request.used + cardinality(claims);
    END IF;
    SELECT a.next_ms, a.marked, a.due INTO next_ms, marked, due FROM asked_for(t) a;
    IF NOT (sweep OR marked OR due) THEN
        RETURN;
    END IF;
    PERFORM FROM promotion_lock l WHERE l.id = 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        busy := true;
        IF sweep THEN -- the row may be missing, after a restore of parts
            INSERT INTO promotion_lock (id) VALUES (1) ON CONFLICT DO NOTHING;
        END IF;
        RETURN;
    END IF;
    IF may_be_limited() THEN
        counted := adopt_limits();
        rooms := fair_rooms(t); -- before the marks are read: in front of who comes behind that, and has no turn in this pass, go as many as have room now
    END IF;
    IF sweep THEN
        PERFORM cancel_skipped();
    END IF;
    marks := take_marks(sweep, most);
    limit_keys := marks.limit_keys;
    found_runs := candidates(marks, due, rooms, most);
    more := more OR marks.more OR found_runs.more;
    IF cardinality(found_runs.ids) > 0 THEN
        verdicts := verdicts_on(found_runs.ids, found_runs.turns, counted);
        step := apply_verdicts(verdicts, found_runs.turns, request);
        promoted := promoted + step.promoted;
        claims := claims || step.claims;
        next_ms := least(next_ms, step.next_ms);
        IF NOT verdicts.share_alone OR num_nonnulls(found_runs.of_plans, found_runs.cut_off) > 0 THEN -- turns alone open nothing else
            more := leave_marks(verdicts, found_runs.of_plans, found_runs.cut_off) OR more;
        END IF;
        limit_keys := limit_keys || verdicts.limit_keys;
        full_keys := verdicts.full_keys;
        IF 'LIMIT' = ANY (verdicts.causes) THEN
            PERFORM note_turns(verdicts.waits, clock_timestamp());
            held := ARRAY(SELECT v.id FROM unnest(verdicts.ids, verdicts.causes) v(id, cause) WHERE v.cause = 'LIMIT');
            IF step.redrawn THEN
                found_runs.turns := NULL;
            END IF;
        END IF;
    END IF;
    IF limit_keys <> '{}' THEN
        next_ms := least(next_ms, follow_turns(found_runs.turns, held));
        step := follow_limits(limit_keys, full_keys);
        next_ms := least(next_ms, step.next_ms);
        more := more OR step.more AND cardinality(found_runs.ids) > 0;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.promote_runs(boolean, boolean, integer, rowrun.claim_request) IS 'Internal: one promote pass, PENDING to AVAILABLE, and to RUNNING what is asked for.';
