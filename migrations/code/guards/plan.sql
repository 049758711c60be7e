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

-- The CHECKs of the table refuse the same, and say less.
CREATE OR REPLACE FUNCTION rowrun.plan_bounds() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NEW.project = '' OR octet_length(NEW.project) > 200 THEN
        RAISE EXCEPTION 'project of a plan has 1 to 200 bytes' USING ERRCODE = 'check_violation', CONSTRAINT = 'plan_project_1_to_200_bytes',
            HINT = 'Leave it out for the project default.';
    ELSIF octet_length(NEW.name) > 200 THEN
        RAISE EXCEPTION 'name of a plan has at most 200 bytes' USING ERRCODE = 'check_violation', CONSTRAINT = 'plan_name_up_to_200_bytes', HINT = 'Shorten it.';
    ELSIF NEW.parallel_limit < 1 THEN
        RAISE EXCEPTION 'parallel_limit of a plan is at least 1, not %', NEW.parallel_limit USING ERRCODE = 'check_violation', CONSTRAINT = 'plan_parallel_limit_from_1',
            HINT = 'NULL: no limit. To hold all of its runs back set paused.';
    ELSIF NEW.on_failure NOT IN ('STOP_DATABASE', 'STOP', 'CONTINUE') THEN
        RAISE EXCEPTION 'on_failure "%" of a plan is none of STOP_DATABASE, STOP, CONTINUE', left(NEW.on_failure, 100)
            USING ERRCODE = 'check_violation', CONSTRAINT = 'plan_on_failure_stop_database_stop_or_continue',
                HINT = 'What a task that failed for good holds back: the later versions on its database, the default; every other run of the plan; nothing.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.plan_bounds() IS 'Trigger: what is too long or out of range is refused with what to do about it.';
CREATE OR REPLACE TRIGGER plan_bounds BEFORE INSERT OR UPDATE OF project, name, parallel_limit, on_failure ON rowrun.plan
    FOR EACH ROW EXECUTE FUNCTION rowrun.plan_bounds();
