-- An INSERT says nothing while a replica is woken by the log, and passes it on: that replica's session holds the lock
-- (1920298607, 3). Only who would notify asks for it, so that it costs the others nothing.
CREATE OR REPLACE FUNCTION rowrun.task_run_inserted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NOT rowrun.is_quiet() AND pg_try_advisory_xact_lock(1920298606, (extract(epoch FROM clock_timestamp()) * 200)::bigint::bit(32)::int)
       AND pg_try_advisory_xact_lock_shared(1920298607, 3)
       AND rowrun.may_notify()
       AND pg_notify('rowrun_task_run', '[]') IS NULL
    THEN
        NULL;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.task_run_inserted() IS 'Trigger, at commit: a new run says "look".';
CREATE CONSTRAINT TRIGGER task_run_inserted AFTER INSERT ON rowrun.task_run DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.retry_of IS NULL) EXECUTE FUNCTION rowrun.task_run_inserted();
