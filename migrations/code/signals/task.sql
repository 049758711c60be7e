-- The outcome of a plan's task changes with its newest ended run, or where a run is deleted: what a failure held
-- back may go on when it is gone.
CREATE OR REPLACE FUNCTION rowrun.task_outcome_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, database_id, plan_id)
    SELECT 'PLAN', NULL, NEW.plan_id
    UNION ALL
    SELECT 'PLAN_FAILED', NEW.database_id, NEW.plan_id WHERE NEW.database_id IS NOT NULL;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.task_outcome_changed() IS 'Trigger: a failed task was mended or skipped.';
CREATE OR REPLACE TRIGGER task_outcome_changed AFTER UPDATE ON rowrun.task FOR EACH ROW
    WHEN (OLD.plan_id IS NOT NULL AND OLD.outcome IN ('FAILED', 'CANCELED') AND NOT OLD.skipped
          AND (NEW.outcome IS DISTINCT FROM OLD.outcome OR NEW.skipped))
    EXECUTE FUNCTION rowrun.task_outcome_changed();

-- A task that goes on, is skipped or is not skipped any more. Skipping is news for its plan: it may be complete, and
-- where its event was decided the next round begins. The pass sees to it; skip_task() has by then. A task that counts again may hold
-- sequential runs of its plan back, behind which others then needn't wait.
CREATE OR REPLACE FUNCTION rowrun.task_gate_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NEW.skipped AND NOT OLD.skipped THEN
        UPDATE rowrun.task_run SET status = 'CANCELED', cancel_reason = coalesce('task skipped: ' || NEW.skip_reason, 'task skipped')
        WHERE task_id = NEW.id AND status IN ('PENDING', 'AVAILABLE'); -- a pass that was just promoting one is waited for
        INSERT INTO rowrun.gate_mark (kind, task_id) VALUES ('DEPENDENCY', NEW.id), ('TASK', NEW.id);
    END IF;
    IF NEW.skipped IS DISTINCT FROM OLD.skipped AND NEW.plan_id IS NOT NULL THEN
        INSERT INTO rowrun.gate_mark (kind, plan_id, round, by_run)
        SELECT 'PLAN_CHANGED', p.id, CASE WHEN p.announced_round >= p.round THEN least(p.round, 2147483646) + 1 END, false
        FROM rowrun.plan p WHERE p.id = NEW.plan_id;
    END IF;
    IF NEW.paused IS DISTINCT FROM OLD.paused THEN
        INSERT INTO rowrun.gate_mark (kind, task_id) VALUES ('PAUSED', NEW.id);
        -- Runs have the database that the task had when they were inserted: those that wait are among the newest, however many have ended.
        INSERT INTO rowrun.gate_mark (kind, database_id)
        SELECT 'DATABASE', NEW.database_id WHERE NEW.database_id IS NOT NULL
        UNION
        SELECT 'DATABASE', n.database_id
        FROM (SELECT r.database_id, r.status FROM rowrun.task_run r WHERE r.task_id = NEW.id ORDER BY r.task_id DESC, r.id DESC LIMIT 1000) n
        WHERE n.status = 'PENDING' AND n.database_id IS NOT NULL;
    END IF;
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.task_gate_changed() IS 'Trigger: a task was paused, unpaused, skipped or unskipped.';
CREATE OR REPLACE TRIGGER task_gate_changed AFTER UPDATE ON rowrun.task FOR EACH ROW
    WHEN (NEW.paused IS DISTINCT FROM OLD.paused OR NEW.skipped IS DISTINCT FROM OLD.skipped)
    EXECUTE FUNCTION rowrun.task_gate_changed();

-- A plan that lost its last open task is complete; a failed one that is gone, or has another version, holds nobody back on its database.
CREATE OR REPLACE FUNCTION rowrun.task_left_plan() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, plan_id, database_id)
    SELECT m.kind, p.id, m.database_id
    FROM rowrun.plan p CROSS JOIN (VALUES ('PLAN', NULL), ('PLAN_FAILED', OLD.database_id)) m(kind, database_id)
    WHERE p.id = OLD.plan_id
      AND (m.kind = 'PLAN' OR OLD.outcome IN ('FAILED', 'CANCELED') AND NOT OLD.skipped AND OLD.database_id IS NOT NULL AND OLD.version IS NOT NULL);
    IF FOUND THEN
        PERFORM rowrun.notify_look();
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.task_left_plan() IS 'Trigger: a task of a plan was deleted or moved, a failed one to another version or database too.';
CREATE OR REPLACE TRIGGER task_deleted AFTER DELETE ON rowrun.task FOR EACH ROW WHEN (OLD.plan_id IS NOT NULL)
    EXECUTE FUNCTION rowrun.task_left_plan();
CREATE OR REPLACE TRIGGER task_moved AFTER UPDATE OF plan_id, database_id, version ON rowrun.task FOR EACH ROW
    WHEN (OLD.plan_id IS NOT NULL
          AND (NEW.plan_id IS DISTINCT FROM OLD.plan_id
               OR OLD.outcome IN ('FAILED', 'CANCELED') AND (NEW.database_id, NEW.version) IS DISTINCT FROM (OLD.database_id, OLD.version)))
    EXECUTE FUNCTION rowrun.task_left_plan();
