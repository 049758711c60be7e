CREATE OR REPLACE FUNCTION rowrun.task_dependency_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    dependent bigint := CASE WHEN TG_OP = 'INSERT' THEN NEW.task_id ELSE OLD.task_id END;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO rowrun.gate_mark (kind, run_id)
        SELECT 'RUN', r.id FROM rowrun.task_run r WHERE r.task_id = dependent AND r.plan_id IS NOT NULL AND r.status = 'PENDING';
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    ELSIF TG_OP = 'UPDATE' AND NEW = OLD THEN
        RETURN NULL;
    ELSE
        -- A run that is just being inserted can't be seen from here, and may be judged before this commits: the mark is
        -- left in any case.
        INSERT INTO rowrun.gate_mark (kind, task_id) VALUES ('TASK', dependent);
    END IF;
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.task_dependency_changed() IS 'Trigger: a dependency came or went.';
CREATE OR REPLACE TRIGGER task_dependency_changed AFTER INSERT OR UPDATE OR DELETE ON rowrun.task_dependency
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_dependency_changed();
