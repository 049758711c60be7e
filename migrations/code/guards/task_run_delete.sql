CREATE OR REPLACE FUNCTION rowrun.task_run_keep() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'run % is %: it can''t be deleted, nor its task or plan', OLD.id, OLD.status
        USING ERRCODE = 'RR006', HINT = 'Cancel it and wait for its end.';
END $$;
COMMENT ON FUNCTION rowrun.task_run_keep() IS 'Trigger: runs that are AVAILABLE or RUNNING stay.';
CREATE OR REPLACE TRIGGER task_run_keep BEFORE DELETE ON rowrun.task_run FOR EACH ROW
    WHEN (OLD.status IN ('AVAILABLE', 'RUNNING')) EXECUTE FUNCTION rowrun.task_run_keep();
