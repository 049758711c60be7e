-- Tasks of SQL, DATABASE_MIGRATE and COMMAND are for authors, whatever is to be changed of them: when they run, how often
-- and in which order is as much part of them as their text. Asked at every UPDATE that names a column which a client may
-- write (columns that come later bring triggers of their own), not of what the end of a run writes.
CREATE OR REPLACE FUNCTION rowrun.task_author_check() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF (is_authors(NEW.type) OR TG_OP = 'UPDATE' AND is_authors(OLD.type)) AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may write tasks of type %',
            CASE WHEN TG_OP = 'UPDATE' AND is_authors(OLD.type) THEN OLD.type ELSE NEW.type END
            USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT rowrun_author TO the role, or let an author define the task.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_author_check() IS 'Trigger: tasks of SQL, DATABASE_MIGRATE and COMMAND are for authors.';
CREATE OR REPLACE TRIGGER task_author_insert BEFORE INSERT ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();
CREATE OR REPLACE TRIGGER task_author_update BEFORE UPDATE OF id, plan_id, name, type, queue, database_id, version, sequential, payload, priority,
    timeout, progress_timeout, max_attempts, retry_delay, on_stale, on_failure_task, paused, skipped, skip_reason, retention, labels,
    created_at ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();
