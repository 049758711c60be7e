CREATE OR REPLACE FUNCTION rowrun.plan_fill() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    NEW.id := coalesce(NEW.id, nextval('rowrun.plan_id_seq'));
    PERFORM rowrun.check_id(NEW.id, 'rowrun.plan_id_seq');
    NEW.project := coalesce(NEW.project, 'default');
    NEW.name := coalesce(NEW.name, '');
    NEW.on_failure := coalesce(NEW.on_failure, 'STOP_DATABASE');
    NEW.paused := coalesce(NEW.paused, false);
    NEW.round := 1;
    NEW.announced_round := 0;
    NEW.retry_count := 0;
    NEW.created_at := now();
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.plan_fill() IS 'Trigger: NULLs get their defaults.';
CREATE OR REPLACE TRIGGER plan_fill BEFORE INSERT ON rowrun.plan FOR EACH ROW EXECUTE FUNCTION rowrun.plan_fill();
