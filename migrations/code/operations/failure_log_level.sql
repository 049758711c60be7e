-- What operators set per task and per replica: how long runs are kept, how loud a failure is, who claims nothing for now.

CREATE OR REPLACE FUNCTION rowrun.task_operations_fill() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    NEW.failure_log_level := 'info';
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_operations_fill() IS 'Trigger: an explicit NULL in failure_log_level gets its default.';
CREATE OR REPLACE TRIGGER task_author_operations BEFORE UPDATE OF failure_log_level ON rowrun.task
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();
CREATE OR REPLACE TRIGGER task_operations_fill BEFORE INSERT OR UPDATE OF failure_log_level ON rowrun.task
    FOR EACH ROW WHEN (NEW.failure_log_level IS NULL) EXECUTE FUNCTION rowrun.task_operations_fill();
