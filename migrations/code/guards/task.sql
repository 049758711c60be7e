CREATE OR REPLACE FUNCTION rowrun.task_fill() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    NEW.id := coalesce(NEW.id, nextval('rowrun.task_id_seq'));
    NEW.name := coalesce(NEW.name, '');
    NEW.queue := coalesce(NEW.queue, 'default');
    NEW.sequential := coalesce(NEW.sequential, NEW.type = 'DATABASE_MIGRATE', false);
    NEW.payload := coalesce(NEW.payload, '{}');
    NEW.priority := coalesce(NEW.priority, 0);
    NEW.max_attempts := coalesce(NEW.max_attempts, 1);
    NEW.retry_delay := coalesce(NEW.retry_delay, '10 s');
    NEW.on_stale := coalesce(NEW.on_stale, 'FAIL');
    NEW.paused := coalesce(NEW.paused, false);
    NEW.skipped := coalesce(NEW.skipped, false);
    NEW.labels := coalesce(NEW.labels, '{}');

    PERFORM rowrun.check_task_words(NEW);
    IF TG_OP = 'INSERT' THEN
        PERFORM rowrun.check_id(NEW.id, 'rowrun.task_id_seq');
        NEW.created_at := now();
        NEW.outcome := NULL;
        NEW.outcome_round := NULL;
        NEW.outcome_run_id := NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id <> OLD.id THEN
            RAISE EXCEPTION 'task % keeps its id', OLD.id
                USING ERRCODE = 'RR003', HINT = 'Leave id out of the UPDATE; a task with another id is inserted.';
        END IF;
        IF NEW.plan_id IS DISTINCT FROM OLD.plan_id THEN
            NEW.outcome_round := NULL; -- it was counted in the old plan's rounds
            IF EXISTS (SELECT FROM rowrun.task_dependency d WHERE OLD.id IN (d.task_id, d.depends_on_id)) THEN
                RAISE EXCEPTION 'task % has dependencies: it stays in its plan', OLD.id
                    USING ERRCODE = 'RR003', HINT = 'Delete its rows in rowrun.task_dependency first.';
            END IF;
        END IF;
        IF NEW.plan_id IS DISTINCT FROM OLD.plan_id
           OR OLD.plan_id IS NOT NULL
              AND (NEW.type, NEW.queue, NEW.database_id, NEW.version, NEW.sequential)
                  IS DISTINCT FROM (OLD.type, OLD.queue, OLD.database_id, OLD.version, OLD.sequential)
        THEN
            -- Who has inserted a run and hasn't committed holds a share of the task's key: that transaction is waited for.
            PERFORM rowrun.check_isolation(); -- a snapshot from before doesn't have that run
            PERFORM FROM rowrun.task k WHERE k.id = OLD.id FOR UPDATE;
            IF EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
                       AND (r.plan_id IS NOT NULL OR NEW.plan_id IS DISTINCT FROM OLD.plan_id))
            THEN
                RAISE EXCEPTION 'task % has an unfinished run: its type, queue, database_id, version, sequential and plan_id are fixed until that ends', OLD.id
                    USING ERRCODE = 'RR005', HINT = 'Cancel the run or wait for its end.';
            END IF;
        END IF;
        IF NEW.skipped <> OLD.skipped THEN
            PERFORM rowrun.check_isolation(); -- a snapshot from before may not have a run that is under way, nor its plan's event
        END IF;
        IF NEW.skipped AND NOT OLD.skipped AND OLD.plan_id IS NOT NULL THEN
            -- A run that is just being promoted is waited for, and one that is held here isn't promoted.
            PERFORM FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.plan_id IS NOT NULL
                AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') FOR NO KEY UPDATE;
        END IF;
        IF NEW.skipped AND NOT OLD.skipped
           AND (EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.status = 'AVAILABLE')
                OR EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.status = 'RUNNING'))
        THEN
            RAISE EXCEPTION 'task % has a run that is AVAILABLE or RUNNING: it can''t be skipped', OLD.id
                USING ERRCODE = 'RR004', HINT = 'Cancel the run first.';
        END IF;
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_fill() IS 'Trigger: NULLs get their defaults; who may write which type; what is fixed while a run is unfinished.';

-- Not of what the end of a run writes: its outcome.
CREATE OR REPLACE TRIGGER task_fill BEFORE INSERT OR UPDATE OF id, plan_id, name, type, queue, database_id, version, sequential, payload,
    priority, timeout, progress_timeout, max_attempts, retry_delay, on_stale, paused, skipped, skip_reason, labels, created_at
    ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_fill();
