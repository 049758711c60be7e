-- What an author's task waits for is the author's, too. An upsert sets both columns to what they are; to anything else an edge is changed by
-- the owner alone.
CREATE OR REPLACE FUNCTION rowrun.task_dependency_author() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW <> OLD AND NOT is_trusted() THEN
            RAISE EXCEPTION 'what a dependency is between is not changed'
                USING ERRCODE = 'RR003', HINT = 'Insert the new one, and delete the old one by delete_dependency.';
        END IF;
        RETURN NEW;
    END IF;
    IF EXISTS (SELECT FROM rowrun.task k WHERE k.id = NEW.task_id AND is_authors(k.type)) AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may say what task % waits for', NEW.task_id
            USING ERRCODE = 'insufficient_privilege', HINT = 'It is of a type that authors write. GRANT rowrun_author TO the role, or let an author do it.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_dependency_author() IS 'Trigger: what an author''s task waits for is the author''s to say, and an edge is changed by its owner.';
CREATE OR REPLACE TRIGGER task_dependency_author BEFORE INSERT OR UPDATE ON rowrun.task_dependency
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_dependency_author();

-- Edges of a plan are changed under its row: of two that would close a cycle together the second sees the first, or fails with 40001
-- where its snapshot is older (rowrun.touch_plans).
CREATE OR REPLACE FUNCTION rowrun.task_dependency_check() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    dependents   bigint[] := CASE TG_OP WHEN 'INSERT' THEN ARRAY[NEW.task_id] WHEN 'DELETE' THEN ARRAY[OLD.task_id]
                                        ELSE ARRAY[OLD.task_id, NEW.task_id] END;
    dependent    bigint;
    waiting_plan bigint;
    needed_plan  bigint;
BEGIN
    SELECT plan_id INTO waiting_plan FROM rowrun.task WHERE id = dependents[cardinality(dependents)];
    IF TG_OP = 'DELETE' THEN
        -- With one of its tasks gone it goes by cascade.
        IF NOT FOUND OR NOT EXISTS (SELECT FROM rowrun.task WHERE id = OLD.depends_on_id) THEN
            RETURN OLD;
        END IF;
    ELSE
        IF NEW.task_id = NEW.depends_on_id THEN -- the CHECK says less
            RAISE EXCEPTION 'task % can''t depend on itself', NEW.task_id
                USING ERRCODE = 'check_violation', CONSTRAINT = 'task_dependency_not_itself', HINT = 'Name another task of its plan.';
        END IF;
        SELECT plan_id INTO needed_plan FROM rowrun.task WHERE id = NEW.depends_on_id;
        IF waiting_plan IS NULL OR needed_plan IS DISTINCT FROM waiting_plan THEN
            RAISE EXCEPTION 'tasks % and % are not of one plan', NEW.task_id, NEW.depends_on_id
                USING ERRCODE = 'RR003', HINT = 'A dependency holds between two tasks of the same plan.';
        END IF;
    END IF;
    PERFORM FROM rowrun.plan WHERE id = waiting_plan FOR NO KEY UPDATE;
    -- A run that is just being promoted is waited for, and one that is held here isn't promoted.
    PERFORM FROM rowrun.task_run WHERE task_id = ANY (dependents) AND plan_id IS NOT NULL
        AND status IN ('PENDING', 'AVAILABLE', 'RUNNING') ORDER BY id FOR NO KEY UPDATE;
    SELECT task_id INTO dependent FROM rowrun.task_run
    WHERE task_id = ANY (dependents) AND plan_id IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND status <> 'PENDING';
    IF FOUND THEN
        RAISE EXCEPTION 'task % has a run that is AVAILABLE or RUNNING: what it waits for is fixed until that ends', dependent
            USING ERRCODE = 'RR005', HINT = 'Wait for its end, or cancel the run.';
    END IF;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
COMMENT ON FUNCTION rowrun.task_dependency_check() IS 'Trigger: both tasks are of one plan, and the one that waits isn''t under way.';
CREATE OR REPLACE TRIGGER task_dependency_check BEFORE INSERT OR UPDATE OR DELETE ON rowrun.task_dependency
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_dependency_check();
