CREATE OR REPLACE FUNCTION rowrun.remove_dependency(task_id bigint, depends_on_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM task_dependency d WHERE d.task_id = remove_dependency.task_id AND d.depends_on_id = remove_dependency.depends_on_id
        AND NOT EXISTS (SELECT FROM task k WHERE k.id = d.task_id AND is_authors(k.type));
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION rowrun.remove_dependency(bigint, bigint) IS 'Internal: deletes a dependency of a task that isn''t for authors.';

CREATE OR REPLACE FUNCTION rowrun.remove_any_dependency(task_id bigint, depends_on_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM task_dependency d
    WHERE d.task_id = remove_any_dependency.task_id AND d.depends_on_id = remove_any_dependency.depends_on_id;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION rowrun.remove_any_dependency(bigint, bigint) IS 'Internal: deletes a dependency.';

CREATE OR REPLACE FUNCTION rowrun.delete_dependency(task_id bigint, depends_on_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    authors boolean := EXISTS (SELECT FROM task k WHERE k.id = delete_dependency.task_id AND is_authors(k.type));
    gone boolean;
BEGIN
    IF authors AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may say what task % waits for', delete_dependency.task_id
            USING ERRCODE = 'insufficient_privilege', HINT = 'It is of a type that authors write. GRANT rowrun_author TO the role, or let an author do it.';
    ELSIF authors THEN
        gone := remove_any_dependency(delete_dependency.task_id, delete_dependency.depends_on_id);
    ELSE
        gone := remove_dependency(delete_dependency.task_id, delete_dependency.depends_on_id);
    END IF;
    IF NOT gone THEN
        RAISE EXCEPTION 'task % does not depend on task %', coalesce(delete_dependency.task_id::text, 'NULL'), coalesce(delete_dependency.depends_on_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for it in rowrun.task_dependency.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.delete_dependency(bigint, bigint) IS 'The task doesn''t wait for the other any more.';
