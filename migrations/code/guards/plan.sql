CREATE OR REPLACE FUNCTION rowrun.plan_fill() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    NEW.id := coalesce(NEW.id, nextval('rowrun.plan_id_seq'));
    PERFORM rowrun.check_id(NEW.id, 'rowrun.plan_id_seq');
    NEW.project := coalesce(NEW.project, 'default');
    NEW.name := coalesce(NEW.name, '');
    NEW.on_failure := coalesce(NEW.on_failure, 'STOP_DATABASE');
    NEW.paused := coalesce(NEW.paused, false);
    IF NEW.on_failure NOT IN ('STOP_DATABASE', 'STOP', 'CONTINUE') THEN
        RAISE EXCEPTION 'on_failure "%" of a plan is none of STOP_DATABASE, STOP, CONTINUE', left(NEW.on_failure, 100)
            USING ERRCODE = 'check_violation', CONSTRAINT = 'plan_on_failure_stop_database_stop_or_continue',
                HINT = 'What a task that failed for good holds back: the later versions on its database, the default; every other run of the plan; nothing.';
    END IF;
    NEW.round := 1;
    NEW.announced_round := 0;
    NEW.retry_count := 0;
    NEW.created_at := now();
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.plan_fill() IS 'Trigger: NULLs get their defaults.';
CREATE OR REPLACE TRIGGER plan_fill BEFORE INSERT ON rowrun.plan FOR EACH ROW EXECUTE FUNCTION rowrun.plan_fill();
