-- Tasks of SQL, DATABASE_MIGRATE and COMMAND are for authors, this column of theirs too.
CREATE OR REPLACE TRIGGER task_author_aging BEFORE UPDATE OF aging ON rowrun.task
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();
