-- The state machine. What replicas write is complete and passes the WHEN clause of the trigger without a call; what is
-- written by hand gets here, is completed or refused. rowrun.mark_edited is in signals/marks.sql.
CREATE OR REPLACE FUNCTION rowrun.task_run_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz := clock_timestamp();
    ended boolean;
BEGIN
    NEW.result := coalesce(NEW.result, '{}');
    PERFORM rowrun.task_run_bounds(NEW);
    IF (NEW.run_at, NEW.priority) IS DISTINCT FROM (OLD.run_at, OLD.priority) THEN
        IF NEW.missed_at = OLD.missed_at THEN -- somebody put it off or brought it forward
            NEW.missed_at := OLD.missed_at + (NEW.run_at - OLD.run_at);
        END IF;
        IF NEW.run_at <> OLD.run_at AND OLD.age_at IS NOT NULL THEN
            NEW.age_at := greatest(OLD.age_at + (NEW.run_at - OLD.run_at), t);
        END IF;
        -- A priority that has grown while the run waited is no other gate, and its sweep sees to the order of databases.
        IF NEW.status = 'PENDING' AND (NEW.run_at <> OLD.run_at OR NEW.age_at IS NOT DISTINCT FROM OLD.age_at) THEN
            PERFORM rowrun.mark_edited(NEW.database_id, NEW.run_at < OLD.run_at);
            NEW.cause := NULL;
            IF OLD.limit_wait IS NOT NULL THEN -- others may have waited for its time
                PERFORM rowrun.mark_limited(OLD.limit_wait, false);
                NEW.limit_wait := NULL;
            END IF;
            -- As at its INSERT: a run of a plan that is put off before its first look may still end what a failure held back.
            NEW.judge_at := CASE WHEN NEW.plan_id IS NULL THEN NEW.run_at ELSE least(NEW.run_at, t) END;
        END IF;
    END IF;

    IF (NEW.cancel_requested_at, NEW.cancel_reason) IS DISTINCT FROM (OLD.cancel_requested_at, OLD.cancel_reason) THEN
        IF OLD.status IN ('DONE', 'FAILED', 'CANCELED') THEN
            RAISE EXCEPTION 'run % is %: there is nothing to cancel any more', OLD.id, OLD.status
                USING ERRCODE = 'RR004', HINT = 'What followed it is canceled by rowrun.cancel_run.';
        ELSIF OLD.cancel_requested_at IS NOT NULL THEN
            RAISE EXCEPTION 'run %: a cancel that was asked for stays', OLD.id
                USING ERRCODE = 'RR003', HINT = 'When it has ended, rowrun.retry_run makes a successor.';
        ELSIF NEW.cancel_requested_at IS NOT NULL THEN
            NEW.cancel_requested_at := t; -- whatever moment was given
        END IF;
    END IF;

    -- A cancel that was asked for needs nobody's help but for a run that a replica executes.
    IF NEW.status = OLD.status AND NEW.cancel_requested_at IS NOT NULL AND OLD.cancel_requested_at IS NULL
       AND (OLD.status IN ('PENDING', 'AVAILABLE') OR OLD.status = 'RUNNING' AND NEW.replica_id IS NULL)
    THEN
        NEW.status := 'CANCELED';
    END IF;

    IF NEW.status = OLD.status THEN
        IF NEW.cancel_requested_at IS NOT NULL AND OLD.cancel_requested_at IS NULL THEN
            PERFORM rowrun.mark_edited(NULL, true);
        END IF;
        NEW.prev_status := NULL;
        NEW.updated_at := OLD.updated_at;
        RETURN NEW;
    END IF;

    ended := NEW.status IN ('DONE', 'FAILED', 'CANCELED');
    IF NOT (OLD.status = 'PENDING' AND NEW.status IN ('AVAILABLE', 'CANCELED')
            OR OLD.status = 'AVAILABLE' AND NEW.status IN ('RUNNING', 'CANCELED')
            OR OLD.status = 'RUNNING' AND ended)
    THEN
        RAISE EXCEPTION 'run % can''t go from % to %', OLD.id, OLD.status, NEW.status
            USING ERRCODE = 'RR001',
                  HINT = 'PENDING -> AVAILABLE -> RUNNING -> DONE, FAILED or CANCELED; to run it again use rowrun.retry_run or insert a run.';
    END IF;
    NEW.prev_status := OLD.status;
    NEW.edited_directly := true;
    NEW.cause := NULL;
    NEW.judge_at := NULL;
    NEW.limit_wait := NULL;
    NEW.updated_at := greatest(t, OLD.updated_at + interval '1 us'); -- also behind a clock that was set back
    IF NEW.status = 'AVAILABLE' THEN
        NEW.available_at := coalesce(NEW.available_at, t);
    ELSIF NEW.status = 'RUNNING' THEN
        IF NEW.replica_id IS NULL THEN
            RAISE EXCEPTION 'run % can''t be RUNNING without a replica', OLD.id
                USING ERRCODE = 'RR003', HINT = 'Set replica_id too.';
        END IF;
        NEW.started_at := coalesce(NEW.started_at, t);
        IF NEW.claim_hash IS NULL AND NEW.deadline IS NULL THEN
            NEW.deadline := (SELECT NEW.started_at + k.timeout FROM rowrun.task k
                             WHERE k.id = NEW.task_id AND k.timeout > interval '0');
        END IF;
    ELSE
        NEW.finished_at := coalesce(NEW.finished_at, t);
        NEW.claim_hash := CASE WHEN NEW.status = 'CANCELED' THEN OLD.claim_hash END;
        IF NEW.status = 'CANCELED' AND NOT NEW.result ? 'code' THEN
            NEW.result := NEW.result || jsonb_build_object('code', 'CANCELED', 'detail',
                'Task run canceled' || coalesce(': ' || NEW.cancel_reason, ''));
        ELSIF NEW.status = 'FAILED' AND NOT NEW.result ? 'code' THEN
            NEW.result := '{"detail": "Task run marked as failed by hand"}' || NEW.result || '{"code": "ERROR"}';
        END IF;
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_run_guard() IS 'Trigger: the state machine; completes what is written by hand.';

-- A call costs more than the update itself, so that what replicas write passes without one: their statements are
-- complete, say in prev_status which edge they take, and announce it themselves (rowrun.announce); a judgement changes
-- hold and no status. Whoever updates by hand leaves prev_status as the last edge set it. From PENDING to RUNNING goes the
-- statement of a pass alone (rowrun.make_running), with all that both of its edges leave behind; the function above refuses
-- it. The clause is short, and its list a constant, because it is parsed and simplified anew for each statement: an ARRAY of
-- expressions, and IN, took 45 us more. What such a statement never names has a trigger of its own (task_run_fixed).
CREATE OR REPLACE TRIGGER task_run_guard BEFORE UPDATE ON rowrun.task_run FOR EACH ROW
    WHEN ((NEW.prev_status = OLD.status AND NEW.updated_at > OLD.updated_at
           AND (OLD.status || NEW.status = ANY ('{PENDINGAVAILABLE,PENDINGCANCELED,AVAILABLERUNNING,RUNNINGDONE,RUNNINGFAILED,RUNNINGCANCELED}')
                OR OLD.status || NEW.status = 'PENDINGRUNNING' AND NEW.available_at <= NEW.started_at
                   AND NEW.replica_id > '' AND octet_length(NEW.claim_hash) = 32)
           OR NEW.cause <> coalesce(OLD.cause, '') AND NEW.status = OLD.status) IS NOT TRUE)
    EXECUTE FUNCTION rowrun.task_run_guard();
