-- What an edge by hand sets off; replicas' statements say it themselves. Who waits for a job is told of its end here, whoever
-- writes it.
CREATE OR REPLACE FUNCTION rowrun.task_run_edited() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NEW.status = OLD.status THEN -- asked here, because the clause is parsed anew for each statement
        RETURN NULL;
    END IF;
    IF NEW.awaited AND NEW.status = 'DONE' THEN
        PERFORM mark_awaiting(NEW.root_id);
    END IF;
    IF NEW.edited_directly IS NOT TRUE THEN
        RETURN NULL;
    END IF;
    IF NOT (NEW.created_at = now() AND is_quiet()) THEN -- nobody else has seen what this transaction inserted
        PERFORM announce(CASE WHEN OLD.cause = 'UNTOLD' AND OLD.status = 'AVAILABLE' THEN ARRAY[arrival(NEW), transition(NEW)]
                              ELSE ARRAY[transition(NEW)] END);
    END IF;
    IF may_be_limited() THEN
        IF NEW.status IN ('AVAILABLE', 'RUNNING') THEN
            PERFORM take_limits(ARRAY[NEW.id], clock_timestamp(), false);
        ELSE
            PERFORM free_limits(ARRAY[NEW.id]);
        END IF;
        INSERT INTO gate_mark (kind, limit_key) SELECT 'LIMIT', OLD.limit_wait WHERE OLD.limit_wait IS NOT NULL; -- others may have waited for its time
    END IF;
    IF NEW.status = 'AVAILABLE' AND NEW.round > 1 THEN -- the promote pass begins the round before it gets here
        INSERT INTO gate_mark (kind, plan_id, round, by_run)
        SELECT 'PLAN', p.id, NEW.round, true FROM plan p WHERE p.id = NEW.plan_id AND NEW.round > p.round;
    END IF;
    IF (NEW.plan_id IS NOT NULL OR NEW.database_id IS NOT NULL) AND NEW.status IN ('DONE', 'FAILED', 'CANCELED') THEN
        PERFORM mark_ended(ARRAY[NEW.id], true);
    END IF;
    IF NEW.status = 'FAILED' AND NEW.plan_id IS NULL THEN
        PERFORM announce_failures(ARRAY[NEW.id]);
    END IF;
    IF NEW.tick IS NOT NULL AND NEW.status IN ('DONE', 'FAILED', 'CANCELED') THEN
        PERFORM schedule_after(ARRAY[NEW.id]);
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.task_run_edited() IS 'Trigger: announces an edge written by hand; marks what it may open, and who waits for a job that is DONE.';
CREATE OR REPLACE TRIGGER task_run_edited AFTER UPDATE ON rowrun.task_run FOR EACH ROW
    WHEN (NEW.edited_directly OR NEW.awaited) EXECUTE FUNCTION rowrun.task_run_edited();
