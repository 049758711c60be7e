-- Fills a new run from its task; rowrun.mark_ready and mark_blocked are in signals/marks.sql. A successor (retry_of) is one
-- that its predecessor names, and that a function of ours or a replica inserts; what anybody else gives there is
-- overwritten like everything else that isn't the user's to say. A tick is taken from the same, where they say that it is
-- a schedule's (rowrun.scheduling), so that an owner's plain INSERT has none.
-- Its plans are made at the first row of a session, where the tables may be empty and vacuumed: reading them from end to
-- end then costs nothing, and would go on with the thousands of rows of the same statement.
CREATE OR REPLACE FUNCTION rowrun.is_scheduling() RETURNS boolean LANGUAGE sql STABLE
    RETURN coalesce(current_setting('rowrun.scheduling', true), '') = 'on' AND rowrun.is_trusted();
COMMENT ON FUNCTION rowrun.is_scheduling() IS 'Internal: whether a statement that makes or moves ticks is the schedule''s.';

-- A new run without what only its later life may say.
CREATE OR REPLACE FUNCTION rowrun.unstarted(r rowrun.task_run) RETURNS rowrun.task_run LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    r.available_at := NULL;
    r.started_at := NULL;
    r.finished_at := NULL;
    r.deadline := NULL;
    r.cancel_requested_at := NULL;
    r.cancel_reason := NULL;
    r.progress := NULL;
    r.progress_at := NULL;
    r.replica_id := NULL;
    r.claim_hash := NULL;
    r.prev_status := NULL;
    r.edited_directly := NULL;
    r.retry_run_id := NULL;
    IF r.retry_of IS NULL THEN
        r.awaited := NULL;
    END IF;
    r.limit_keys := NULL;
    r.limit_wait := NULL;
    RETURN r;
END $$;
COMMENT ON FUNCTION rowrun.unstarted(rowrun.task_run) IS 'Internal: a new run without what only its later life may say.';

-- A new run that says what it follows, where that is so: who waits for its job waits for it now, and it for what its predecessor
-- was to wait for.
CREATE OR REPLACE FUNCTION rowrun.as_successor(r rowrun.task_run) RETURNS rowrun.task_run LANGUAGE plpgsql
    SET enable_seqscan = off SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    earlier record;
BEGIN
    IF rowrun.is_trusted() THEN
        SELECT p.awaited, p.after INTO earlier FROM rowrun.task_run p WHERE p.id = r.retry_of AND p.retry_run_id = r.id;
        IF FOUND THEN
            r.awaited := earlier.awaited;
            r.after := earlier.after;
            RETURN r;
        END IF;
    END IF;
    r.retry_of := NULL;
    RETURN r;
END $$;
COMMENT ON FUNCTION rowrun.as_successor(rowrun.task_run) IS 'Internal: a new run with what it has of the run that it follows.';

-- Whether a new run, which is due, waits for its database as far as the same transaction has shown: it then needs no first look
-- of its own. stopped: its task is paused or skipped.
CREATE OR REPLACE FUNCTION rowrun.is_blocked_at_insert(r rowrun.task_run, at timestamptz, stopped boolean) RETURNS boolean LANGUAGE plpgsql
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    ahead text; -- what the run says that stands before this one, where it is of the same transaction
BEGIN
    -- Behind a smaller version that this very transaction has inserted it waits at least for that one, whose end has
    -- it looked at: nobody can have ended that before this run can be seen. What else the first judgement of a run
    -- looks at, its plan and what it holds back, is looked at for that one.
    IF r.version_key IS NOT NULL AND (
        SELECT u.xmin = pg_current_xact_id()::xid AND u.created_at = now() AND u.plan_id IS NOT DISTINCT FROM r.plan_id
               AND (u.cause IS NOT DISTINCT FROM 'DATABASE' AND u.judge_at IS NULL OR u.judge_at <= at)
        FROM rowrun.task_run u
        WHERE u.database_id = r.database_id AND u.status = 'PENDING' AND u.version_key < r.version_key
        ORDER BY u.version_key DESC LIMIT 1)
    THEN
        RETURN true;
    END IF;
    IF r.plan_id IS NOT NULL OR stopped THEN
        RETURN false;
    END IF;
    -- Many runs of one transaction that a database holds: the first gets its look, the second has the database looked at
    -- (mark_blocked), and the others wait behind these, to be looked at in their turn.
    IF r.version_key IS NULL THEN
        ahead := (SELECT CASE WHEN u.xmin <> pg_current_xact_id()::xid OR u.created_at <> now() OR u.plan_id IS NOT NULL THEN ''
                              WHEN u.judge_at IS NULL THEN u.cause
                              WHEN u.judge_at <= at AND (r.sequential OR EXISTS (
                                  SELECT FROM rowrun.task_run a WHERE a.database_id = r.database_id AND a.sequential AND a.status IN ('AVAILABLE', 'RUNNING')))
                              THEN 'ASKED' END
                  FROM rowrun.task_run u
                  WHERE u.database_id = r.database_id AND u.version_key IS NULL AND u.sequential = r.sequential AND u.status = 'PENDING'
                    AND u.priority = r.priority AND u.run_at <= r.run_at
                  ORDER BY u.database_id DESC, u.version_key DESC, u.sequential DESC, u.priority, u.run_at DESC, u.id DESC LIMIT 1);
    ELSE
        ahead := (SELECT CASE WHEN u.xmin <> pg_current_xact_id()::xid OR u.created_at <> now() OR u.plan_id IS NOT NULL THEN ''
                              WHEN u.judge_at IS NULL THEN u.cause
                              WHEN u.judge_at <= at AND (r.sequential
                                  OR EXISTS (SELECT FROM rowrun.task_run a WHERE a.database_id = r.database_id AND a.version_key < r.version_key
                                             AND a.status IN ('AVAILABLE', 'RUNNING'))
                                  OR EXISTS (SELECT FROM rowrun.task_run a WHERE a.database_id = r.database_id AND a.version_key < r.version_key
                                             AND a.status = 'PENDING'))
                              THEN 'ASKED' END
                  FROM rowrun.task_run u
                  WHERE u.database_id = r.database_id AND u.version_key = r.version_key AND u.sequential = r.sequential AND u.status = 'PENDING'
                    AND u.priority = r.priority AND u.run_at <= r.run_at
                  ORDER BY u.database_id DESC, u.version_key DESC, u.sequential DESC, u.priority, u.run_at DESC, u.id DESC LIMIT 1);
    END IF;
    RETURN CASE ahead WHEN 'ASKED' THEN rowrun.mark_blocked(r) WHEN 'DATABASE' THEN true ELSE false END;
END $$;
COMMENT ON FUNCTION rowrun.is_blocked_at_insert(rowrun.task_run, timestamptz, boolean) IS 'Internal: whether a new run waits for its database, so that it needs no first look.';

CREATE OR REPLACE FUNCTION rowrun.refuse_id_of_chain(id bigint) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NOT rowrun.is_owner() THEN
        RAISE EXCEPTION 'id % is that of a job whose first run is gone', id USING ERRCODE = 'RR003', HINT = 'Leave id out.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.refuse_id_of_chain(bigint) IS 'Internal: nobody but the owner inserts a run with the id of a job whose first run is gone.';

CREATE OR REPLACE FUNCTION rowrun.task_run_fill() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    at timestamptz := clock_timestamp(); -- before the task is read, whose pause is younger then where it isn't seen
    t record;
    current_round integer; depends boolean; marked boolean; needed boolean;
BEGIN
    SELECT k.type, k.queue, k.database_id, k.version, k.version_key, k.sequential, k.priority, k.aging, k.plan_id, k.wave, k.outcome,
           nullif(k.retention IS NOT NULL OR k.retention_by_status IS NOT NULL, false) AS own_retention, k.paused OR k.skipped AS stopped
    INTO t FROM rowrun.task k WHERE k.id = NEW.task_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'task % does not exist', coalesce(NEW.task_id::text, 'NULL') USING ERRCODE = 'foreign_key_violation', HINT = 'Insert the task first, or look for its id in rowrun.task.';
    END IF;
    IF NEW.status <> 'PENDING' THEN
        RAISE EXCEPTION 'a run is inserted as PENDING, not as %', NEW.status USING ERRCODE = 'RR003', HINT = 'Leave status out.';
    END IF;
    NEW.id := coalesce(NEW.id, nextval('rowrun.task_run_id_seq'));
    IF NEW.id IS DISTINCT FROM pg_sequence_last_value('rowrun.task_run_id_seq') THEN -- given, or another session has drawn one since
        PERFORM rowrun.check_id(NEW.id, 'rowrun.task_run_id_seq');
        IF NOT EXISTS (SELECT FROM rowrun.task_run c WHERE c.id = NEW.id) AND ( -- otherwise the INSERT fails, or does nothing
            EXISTS (SELECT FROM rowrun.task_run c WHERE c.root_id = NEW.id AND c.attempt > 0 AND c.retry_run_id IS NULL)
            OR EXISTS (SELECT FROM rowrun.run_after w JOIN rowrun.task_run c ON c.id = w.run_id WHERE w.root_id = NEW.id AND w.outcome IS NOT NULL AND c.after IS NOT NULL)) THEN
            PERFORM rowrun.refuse_id_of_chain(NEW.id);
        END IF;
    END IF;
    NEW.status := 'PENDING';
    NEW.run_at := coalesce(NEW.run_at, now());
    NEW.input := coalesce(NEW.input, '{}');
    NEW.priority := coalesce(NEW.priority, t.priority);
    NEW.age_at := CASE WHEN t.aging IS NOT NULL THEN greatest(NEW.run_at, at) + t.aging END;
    NEW.plan_id := t.plan_id;
    NEW.type := t.type;
    NEW.queue := t.queue;
    NEW.database_id := t.database_id;
    NEW.version := t.version;
    NEW.version_key := t.version_key;
    NEW.sequential := t.sequential;
    NEW.own_retention := t.own_retention;
    NEW.created_at := now();
    NEW.updated_at := now();
    NEW.result := '{}';
    IF NEW.retry_of IS NOT NULL THEN -- asked by itself: a query in the condition below would be one for each INSERT
        NEW := rowrun.as_successor(NEW);
    END IF;
    IF NEW.retry_of IS NULL THEN
        NEW.attempt := 0;
        NEW.root_id := NEW.id;
        NEW.creator := current_user;
        NEW.failures := 0;
        NEW.recoveries := 0;
        NEW.round := NULL;
        NEW.tick := CASE WHEN NEW.tick IS NOT NULL AND rowrun.is_scheduling() THEN NEW.tick END;
    END IF;
    -- What is a handler's run follows from who inserts it: a key or a setting could be anybody's.
    NEW.handles := CASE WHEN NEW.handles IS NOT NULL AND rowrun.is_trusted() THEN NEW.handles END;
    NEW.missed_at := CASE WHEN NEW.tick IS NOT NULL THEN NEW.missed_at END;
    IF t.plan_id IS NULL THEN
        NEW.round := NULL;
    ELSE
        -- One look at all that its plan says. The round is the current one, or the next where that has its event; an automatic
        -- retry says its predecessor's. A transaction leaves one mark: it has left it where the plan's newest PENDING run is
        -- its own, too. That run is found in an index alone: with old statistics a sort of another one would look cheaper.
        SELECT least(p.round, 2147483646) + (p.announced_round >= p.round)::int,
               EXISTS (SELECT FROM rowrun.task_dependency d WHERE d.task_id = NEW.task_id),
               (SELECT m.created_at = now() AND m.cause IS NOT DISTINCT FROM 'PLAN' FROM rowrun.task_run m
                WHERE m.id = (SELECT u.id FROM rowrun.task_run u
                              WHERE u.plan_id = t.plan_id AND u.status = 'PENDING' ORDER BY u.id DESC LIMIT 1))
        INTO current_round, depends, marked FROM rowrun.plan p WHERE p.id = t.plan_id;
        NEW.round := coalesce(NEW.round, current_round);
    END IF;
    IF NOT (ROW(NEW.available_at, NEW.started_at, NEW.finished_at, NEW.deadline, NEW.cancel_requested_at, NEW.cancel_reason,
                NEW.progress, NEW.progress_at, NEW.replica_id, NEW.claim_hash, NEW.prev_status, NEW.edited_directly, NEW.retry_run_id, NEW.awaited, NEW.limit_keys, NEW.limit_wait) IS NULL)
    THEN
        NEW := rowrun.unstarted(NEW);
    END IF;
    IF rowrun.too_large(NEW.input) OR jsonb_typeof(NEW.input) <> 'object' OR NEW.idempotency_key IS NOT NULL
       OR NEW.run_at < timestamptz '1900-01-01 00:00+00' OR NEW.run_at >= timestamptz '9999-01-01 00:00+00'
    THEN
        PERFORM rowrun.task_run_bounds(NEW);
    END IF;
    IF t.type IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND') AND NEW.input ?| '{sql,transaction,command}' THEN
        RAISE EXCEPTION 'input of a % task may not name sql, transaction or command', t.type
            USING ERRCODE = 'RR003', HINT = 'They belong to the task''s payload.';
    END IF;
    IF t.outcome = 'DONE' THEN -- who depends on its task waits again
        needed := rowrun.mark_needed(NEW);
    END IF;
    -- Nothing holds a run without plan and database that is due: it needs no pass, and no further version of its row. That
    -- it is AVAILABLE is announced with what becomes of it next. The run of a tick may be missed, and goes with its schedule.
    NEW.cause := NULL;
    NEW.judge_at := NULL;
    NEW.after := CASE WHEN NEW.after IS NOT NULL THEN rowrun.await_runs(NEW.id, NEW.after, NEW.retry_of) END;
    IF NEW.after IS NOT NULL THEN -- looked at at once, whenever it is due: the ends of those jobs are to find it
        NEW.cause := CASE WHEN num_nonnulls(t.plan_id, t.database_id) = 0 THEN 'DEPENDENCY' END;
        NEW.judge_at := CASE WHEN NEW.cause IS NULL THEN least(NEW.run_at, now()) END;
    ELSIF t.plan_id IS NULL AND t.database_id IS NULL AND NEW.run_at <= at AND NOT t.stopped AND NEW.tick IS NULL THEN
        NEW.status := 'AVAILABLE';
        NEW.available_at := at;
        NEW.cause := 'UNTOLD';
    ELSIF t.plan_id IS NOT NULL AND t.database_id IS NULL AND NEW.run_at <= at AND NOT depends AND t.wave IS NULL THEN
        -- Most likely only its plan holds it, which the pass looks at; the other gates are asked when its turn comes.
        NEW.cause := 'PLAN';
        IF marked IS NOT TRUE AND needed IS NOT TRUE THEN
            PERFORM rowrun.mark_ready(t.plan_id);
        END IF;
    ELSE
        -- A run of a plan is looked at at once even where it isn't due yet: a retry ends what its failure held back.
        NEW.judge_at := CASE WHEN t.plan_id IS NULL THEN NEW.run_at ELSE least(NEW.run_at, now()) END;
        IF t.database_id IS NOT NULL AND NEW.tick IS NULL AND NEW.run_at <= at THEN
            IF rowrun.is_blocked_at_insert(NEW, at, t.stopped) THEN
                NEW.cause := 'DATABASE';
                NEW.judge_at := NULL;
            END IF;
        END IF;
    END IF;
    IF rowrun.may_be_limited() THEN
        NEW := rowrun.limit_new_run(NEW);
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_run_fill() IS 'Trigger: fills a new run from its task.';
CREATE OR REPLACE TRIGGER task_run_fill BEFORE INSERT ON rowrun.task_run FOR EACH ROW EXECUTE FUNCTION rowrun.task_run_fill();
