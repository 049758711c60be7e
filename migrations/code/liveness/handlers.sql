-- What becomes of runs that were lost or failed, what nobody runs, how a type of task goes, and inserts in batches.

CREATE OR REPLACE FUNCTION rowrun.handler_task(named text) RETURNS bigint LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT h.id FROM (
        SELECT k.id, 0 AS place FROM rowrun.task k WHERE k.name = named AND k.name <> '' AND k.plan_id IS NULL
        UNION ALL
        SELECT k.id, 1 FROM rowrun.task k
        WHERE k.id = CASE WHEN named ~ '^[0-9]{1,18}$' THEN named::bigint END AND k.plan_id IS NULL) h
    ORDER BY h.place LIMIT 1;
END;
COMMENT ON FUNCTION rowrun.handler_task(text) IS 'Internal: the task that on_failure_task names, by name or id.';

CREATE OR REPLACE FUNCTION rowrun.task_recovery_check() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    -- A function would run in a session of the sidecar's: a deferred trigger of its author's fires at the COMMIT, with
    -- the sidecar's rights, whatever role the function itself ran under.
    IF NEW.on_stale ILIKE 'FUNCTION%' THEN
        RAISE EXCEPTION 'on_stale is FAIL, RETRY or CANCEL, not "%": a function is no longer called for lost runs', left(NEW.on_stale, 200)
            USING ERRCODE = 'RR003', HINT = 'Name a task in on_failure_task: it is run with the failed run as its input, also when that was lost (code STALE, LOST_CONTACT or DRAINED).';
    END IF;
    IF NEW.on_failure_task IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.on_failure_task IS DISTINCT FROM OLD.on_failure_task)
       AND rowrun.handler_task(NEW.on_failure_task) IS NULL
    THEN
        RAISE EXCEPTION 'on_failure_task: there is no task "%" without a plan', NEW.on_failure_task
            USING ERRCODE = 'RR003', HINT = 'Give the name or the id of a task without a plan; define it first.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_recovery_check() IS 'Trigger: on_stale names no function, and the task that on_failure_task names exists.';
CREATE OR REPLACE TRIGGER task_recovery_check BEFORE INSERT OR UPDATE OF on_stale, on_failure_task ON rowrun.task
    FOR EACH ROW WHEN (NEW.on_stale ILIKE 'FUNCTION%' OR NEW.on_failure_task IS NOT NULL)
    EXECUTE FUNCTION rowrun.task_recovery_check();
