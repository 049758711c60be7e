-- Deleting. The right to DELETE from a table would be one to LOCK it as well, so that others have functions. What they
-- may delete follows from who may execute which: rowrun_client what isn't for authors, rowrun_author everything. The
-- functions that people call run with their caller's rights, and name what is missing.
CREATE OR REPLACE FUNCTION rowrun.remove_task(task_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM task k WHERE k.id = remove_task.task_id AND NOT is_authors(k.type)
        AND NOT EXISTS (SELECT FROM task_dependency d JOIN task w ON w.id = d.task_id WHERE d.depends_on_id = k.id AND is_authors(w.type));
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION rowrun.remove_task(bigint) IS 'Internal: deletes a task that isn''t for authors, and that none of theirs depends on.';

CREATE OR REPLACE FUNCTION rowrun.remove_any_task(task_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM task k WHERE k.id = remove_any_task.task_id;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION rowrun.remove_any_task(bigint) IS 'Internal: deletes a task.';

CREATE OR REPLACE FUNCTION rowrun.delete_task(task_id bigint) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    found_type text;
    dependent bigint; -- a task for authors: what it waits for is theirs to say
    gone boolean;
BEGIN
    SELECT k.type INTO found_type FROM task k WHERE k.id = delete_task.task_id;
    SELECT min(w.id) INTO dependent FROM task_dependency d JOIN task w ON w.id = d.task_id WHERE d.depends_on_id = delete_task.task_id AND is_authors(w.type);
    IF is_authors(found_type) AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may delete tasks of type %', found_type
            USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT rowrun_author TO the role, or let an author delete the task.';
    ELSIF dependent IS NOT NULL AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may say what task % waits for', dependent
            USING ERRCODE = 'insufficient_privilege', HINT = 'It is of a type that authors write. GRANT rowrun_author TO the role, or let an author do it.';
    ELSIF is_authors(found_type) OR dependent IS NOT NULL THEN
        gone := remove_any_task(delete_task.task_id);
    ELSE
        gone := remove_task(delete_task.task_id);
    END IF;
    IF NOT gone THEN
        RAISE EXCEPTION 'task % does not exist', coalesce(delete_task.task_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.task.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.delete_task(bigint) IS 'Deletes a task with its runs; refused while one is AVAILABLE or RUNNING.';
