CREATE OR REPLACE FUNCTION rowrun.task_run_deleted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    reopened boolean := false;
    counts_as text;
BEGIN
    IF OLD.plan_id IS NOT NULL THEN
        -- The last ended run goes, or a successor that waits: the run that it followed has now failed for good, in the
        -- round that is current. Without one, the times that remain are the best witness of what came before, and a
        -- failure that counts again has been counted in its own round.
        UPDATE rowrun.task t SET (outcome, outcome_run_id, outcome_round) = (
            SELECT r.status, r.id,
                   CASE WHEN r.status <> 'FAILED' THEN NULL
                        WHEN r.id = OLD.retry_of THEN (SELECT p.round FROM rowrun.plan p WHERE p.id = OLD.plan_id)
                        ELSE r.round END
            FROM rowrun.task_run r
            WHERE r.task_id = OLD.task_id AND r.plan_id IS NOT NULL AND coalesce(r.retry_run_id, OLD.id) = OLD.id
              AND r.status IN ('DONE', 'FAILED', 'CANCELED')
            ORDER BY r.id = OLD.retry_of DESC, r.finished_at DESC, r.id DESC LIMIT 1)
        WHERE t.id = OLD.task_id
          AND CASE WHEN OLD.status = 'PENDING' THEN EXISTS (SELECT FROM rowrun.task_run p WHERE p.id = OLD.retry_of)
                   ELSE coalesce(t.outcome_run_id, OLD.id) = OLD.id END
        RETURNING t.outcome INTO counts_as;
        reopened := FOUND;
        IF counts_as = 'FAILED' THEN
            PERFORM rowrun.mark_stopped(ARRAY[OLD.plan_id]);
        END IF;
    END IF;
    IF OLD.retry_of IS NOT NULL THEN
        UPDATE rowrun.task_run SET retry_run_id = NULL WHERE id = OLD.retry_of AND retry_run_id = OLD.id;
    END IF;
    IF OLD.status <> 'DONE' AND OLD.retry_run_id IS NULL THEN -- who waits for this job goes on waiting
        UPDATE rowrun.run_after w SET outcome = OLD.status
        WHERE w.root_id = OLD.root_id AND NOT EXISTS (SELECT FROM rowrun.last_of_job(OLD.root_id));
    END IF;
    IF OLD.after IS NOT NULL THEN
        DELETE FROM rowrun.run_after w WHERE w.run_id = OLD.id;
    END IF;
    IF OLD.limit_wait IS NOT NULL AND OLD.status = 'PENDING' THEN -- others may have waited for its time
        INSERT INTO rowrun.gate_mark (kind, limit_key) VALUES ('LIMIT', OLD.limit_wait);
        reopened := true;
    END IF;
    IF OLD.status = 'PENDING' AND num_nonnulls(OLD.plan_id, OLD.database_id, OLD.retry_of) > 0 THEN
        reopened := true;
        IF OLD.database_id IS NOT NULL THEN
            INSERT INTO rowrun.gate_mark (kind, database_id) VALUES ('DATABASE', OLD.database_id);
        END IF;
    END IF;
    IF reopened THEN
        IF OLD.plan_id IS NOT NULL THEN -- its task may count as done again
            INSERT INTO rowrun.gate_mark (kind, task_id, plan_id) VALUES ('DEPENDENCY', OLD.task_id, NULL), ('PLAN', NULL, OLD.plan_id);
        END IF;
        PERFORM rowrun.notify_look();
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.task_run_deleted() IS 'Trigger: what a deleted run leaves behind.';
CREATE OR REPLACE TRIGGER task_run_deleted AFTER DELETE ON rowrun.task_run FOR EACH ROW
    WHEN (OLD.plan_id IS NOT NULL OR OLD.retry_of IS NOT NULL OR OLD.status <> 'DONE' OR OLD.after IS NOT NULL)
    EXECUTE FUNCTION rowrun.task_run_deleted();
