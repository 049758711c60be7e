-- A plan that goes on, or has more room. Its sequential runs may also hold back others on their databases, or no more:
-- the pass finds out which databases those are, so that thousands of plans are paused and resumed by one UPDATE.
CREATE OR REPLACE FUNCTION rowrun.plan_gate_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, plan_id) VALUES ('PLAN_CHANGED', NEW.id);
    IF NEW.on_failure <> OLD.on_failure THEN
        INSERT INTO rowrun.gate_mark (kind, plan_id, database_id)
        SELECT DISTINCT 'PLAN_FAILED', NEW.id, t.database_id FROM rowrun.task t
        WHERE t.plan_id = NEW.id AND t.database_id IS NOT NULL;
    END IF;
    IF NEW.parallel_limit IS NULL AND OLD.parallel_limit IS NOT NULL THEN
        -- Without a limit nothing needs a replica that could run it, but for what has a database.
        INSERT INTO rowrun.gate_mark (kind, run_id)
        SELECT 'RUN', r.id FROM rowrun.task t JOIN rowrun.task_run r ON r.task_id = t.id AND r.plan_id IS NOT NULL
        WHERE t.plan_id = NEW.id AND t.database_id IS NULL AND r.status = 'PENDING';
    END IF;
    -- A plan that waited for nothing but this is complete; the UPDATE holds it. One with an open task isn't: that is
    -- looked up along the index of open tasks, as due_event does, because the whole question takes a hundred times as long.
    IF OLD.paused AND NOT NEW.paused AND NEW.announced_round < NEW.round
       AND (SELECT o.id FROM rowrun.task o
            WHERE o.plan_id = NEW.id AND o.plan_id IS NOT NULL AND NOT o.skipped AND o.outcome IS DISTINCT FROM 'DONE'
            ORDER BY o.plan_id DESC, o.id DESC LIMIT 1) IS NULL
    THEN
        PERFORM rowrun.announce_plans(ARRAY[NEW.id]);
    END IF;
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.plan_gate_changed() IS 'Trigger: pause, limit or on_failure of a plan changed.';
CREATE OR REPLACE TRIGGER plan_gate_changed AFTER UPDATE ON rowrun.plan FOR EACH ROW
    WHEN (NEW.paused <> OLD.paused OR NEW.parallel_limit IS DISTINCT FROM OLD.parallel_limit OR NEW.on_failure <> OLD.on_failure)
    EXECUTE FUNCTION rowrun.plan_gate_changed();
