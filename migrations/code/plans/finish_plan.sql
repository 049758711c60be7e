-- A round of a plan has its event: what the plan ends with is run, once, as the caller decides each event once. The run has no part
-- in the plan. What goes wrong here may cost that run, never the event nor the end that led to it; but a lock that is waited for too
-- long is for the caller to try again.
CREATE OR REPLACE FUNCTION rowrun.finish_plan(p rowrun.plan, event text) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    task bigint := rowrun.handler_task(p.on_finish_task);
BEGIN
    IF task IS NULL THEN
        RAISE EXCEPTION 'the task is gone';
    END IF;
    INSERT INTO rowrun.task_run (id, task_id, input)
    SELECT rowrun.next_run_id(), task, jsonb_build_object('finished_plan', jsonb_build_object('event', event) || (m.standard::jsonb -> 'data'))
    FROM rowrun.plan_message(p, event) m;
EXCEPTION
    WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
        RAISE;
    WHEN OTHERS THEN
        INSERT INTO rowrun.stream_note (event, message, detail)
        VALUES ('plan.finish_missing', 'the task that on_finish_task names could not be run',
            jsonb_build_object('plan_id', p.id, 'round', p.round, 'on_finish_task', p.on_finish_task, 'reason', SQLERRM));
END $$;
COMMENT ON FUNCTION rowrun.finish_plan(rowrun.plan, text) IS 'Internal: runs what a plan ends with.';

CREATE OR REPLACE FUNCTION rowrun.plan_finish_check() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF (TG_OP = 'INSERT' OR NEW.on_finish_task IS DISTINCT FROM OLD.on_finish_task) AND rowrun.handler_task(NEW.on_finish_task) IS NULL THEN
        RAISE EXCEPTION 'on_finish_task: there is no task "%" without a plan', left(NEW.on_finish_task, 200)
            USING ERRCODE = 'RR003', HINT = 'Give the name or the id of a task without a plan; define it first.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.plan_finish_check() IS 'Trigger: the task that on_finish_task names exists.';
CREATE OR REPLACE TRIGGER plan_finish_check BEFORE INSERT OR UPDATE OF on_finish_task ON rowrun.plan
    FOR EACH ROW WHEN (NEW.on_finish_task IS NOT NULL) EXECUTE FUNCTION rowrun.plan_finish_check();
