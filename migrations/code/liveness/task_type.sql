-- What a type can't be: the CHECKs of the table refuse the same, and say less.
CREATE OR REPLACE FUNCTION rowrun.task_type_bounds() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NEW.type = '' OR octet_length(NEW.type) > 100 THEN
        RAISE EXCEPTION 'type has 1 to 100 bytes' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_type_type_check', HINT = 'It is the type of tasks.';
    ELSIF NEW.alias_of = '' OR octet_length(NEW.alias_of) > 100 OR NEW.alias_of = NEW.type THEN
        RAISE EXCEPTION 'alias_of names another type, in 1 to 100 bytes' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_type_check',
            HINT = 'NULL: the executor of its own runs it.';
    ELSIF rowrun.is_authors(NEW.type) AND NEW.alias_of IS NOT NULL OR rowrun.is_authors(NEW.alias_of) THEN
        RAISE EXCEPTION 'type % can''t be run by %: SQL, DATABASE_MIGRATE and COMMAND are run by their own executors, and these run nothing else', NEW.type, NEW.alias_of
            USING ERRCODE = 'check_violation', CONSTRAINT = 'task_type_alias_harmless', HINT = 'Tasks of these types are for authors: let one define the tasks anew.';
    ELSIF NEW.mapping IS NOT NULL AND NEW.alias_of IS NULL THEN
        RAISE EXCEPTION 'mapping goes with alias_of' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_type_mapping_of_alias',
            HINT = 'It says what the keys of the payload are called by the type that alias_of names.';
    ELSIF jsonb_typeof(NEW.mapping) <> 'object' THEN
        RAISE EXCEPTION 'mapping is a JSON object, not of type %', jsonb_typeof(NEW.mapping) USING ERRCODE = 'check_violation', CONSTRAINT = 'task_type_mapping_check',
            HINT = 'Such as {"old": "new"}; {"old": null} leaves a key out.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_type_bounds() IS 'Trigger: what a type can''t be is refused with what to do about it.';
CREATE OR REPLACE TRIGGER task_type_bounds BEFORE INSERT OR UPDATE OF type, alias_of, mapping ON rowrun.task_type
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_type_bounds();
