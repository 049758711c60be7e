-- What a run is, and what users may change of it: asked of every statement that names one of these columns, whatever
-- else it says. Those that take a run through its life name none, so that it costs them nothing. It goes before the
-- guard, by its name.
CREATE OR REPLACE FUNCTION rowrun.task_run_fixed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF (NEW.id, NEW.task_id, NEW.root_id, NEW.retry_of, NEW.attempt, NEW.created_at, NEW.plan_id, NEW.type, NEW.queue,
        NEW.database_id, NEW.version, NEW.version_key, NEW.sequential, NEW.idempotency_key, NEW.round, NEW.creator, NEW.failures,
        NEW.recoveries, NEW.own_retention, NEW.handles, NEW.after)
       IS DISTINCT FROM
       (OLD.id, OLD.task_id, OLD.root_id, OLD.retry_of, OLD.attempt, OLD.created_at, OLD.plan_id, OLD.type, OLD.queue,
        OLD.database_id, OLD.version, OLD.version_key, OLD.sequential, OLD.idempotency_key, OLD.round, OLD.creator, OLD.failures,
        OLD.recoveries, OLD.own_retention, OLD.handles, OLD.after)
    THEN
        RAISE EXCEPTION 'run %: what it is does not change; only run_at, priority and input do until it is claimed', OLD.id
            USING ERRCODE = 'RR003', HINT = 'Cancel the run and insert another one.';
    END IF;
    IF (NEW.tick, NEW.missed_at) IS DISTINCT FROM (OLD.tick, OLD.missed_at) AND NOT rowrun.is_scheduling() THEN
        RAISE EXCEPTION 'run %: its tick is its schedule''s to say', OLD.id
            USING ERRCODE = 'RR003', HINT = 'Change run_at, or the schedule of the task.';
    END IF;
    NEW.run_at := coalesce(NEW.run_at, now());
    NEW.input := coalesce(NEW.input, '{}');
    NEW.priority := coalesce(NEW.priority, (SELECT k.priority FROM rowrun.task k WHERE k.id = OLD.task_id));
    IF (NEW.run_at, NEW.priority, NEW.input) IS DISTINCT FROM (OLD.run_at, OLD.priority, OLD.input) THEN
        -- What has been claimed has its input; a run that is AVAILABLE was due, and stays so.
        IF OLD.status <> 'PENDING' AND (OLD.status <> 'AVAILABLE' OR NEW.run_at <> OLD.run_at) THEN
            RAISE EXCEPTION 'run % is %: run_at changes while it is PENDING, priority and input until it is claimed', OLD.id, OLD.status
                USING ERRCODE = 'RR003', HINT = 'Cancel the run and insert another one.';
        END IF;
        PERFORM rowrun.task_run_bounds(NEW);
        IF OLD.type IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND') AND NEW.input ?| '{sql,transaction,command}' THEN
            RAISE EXCEPTION 'input of a % task may not name sql, transaction or command', OLD.type
                USING ERRCODE = 'RR003', HINT = 'They belong to the task''s payload.';
        END IF;
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_run_fixed() IS 'Trigger: what a run is stays; what users may change of it, and how long.';
CREATE OR REPLACE TRIGGER task_run_fixed BEFORE UPDATE OF id, task_id, root_id, retry_of, attempt, created_at, plan_id, type, queue, database_id,
    version, version_key, sequential, idempotency_key, round, creator, failures, recoveries, own_retention, handles, after, tick, missed_at,
    run_at, priority, input ON rowrun.task_run FOR EACH ROW EXECUTE FUNCTION rowrun.task_run_fixed();
