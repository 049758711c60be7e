-- How long a task keeps its runs that ended so: 0 for ever, NULL as long as the sidecars say. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.keeps(k rowrun.task, status text) RETURNS interval LANGUAGE sql STABLE
    RETURN coalesce((k.retention_by_status ->> status)::interval, k.retention);
COMMENT ON FUNCTION rowrun.keeps(rowrun.task, text) IS 'Internal: how long a task keeps its runs of a status; NULL: as long as the sidecars say.';

-- Tasks of SQL, DATABASE_MIGRATE and COMMAND are for authors, this column of theirs too.
CREATE OR REPLACE TRIGGER task_author_retention BEFORE UPDATE OF retention_by_status ON rowrun.task
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();
