-- What is written about limits. The id begins the keys of runs: another type, queue or key_path makes other keys of them.
CREATE OR REPLACE FUNCTION rowrun.concurrency_limit_fill() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    old_replica text;
BEGIN
    NEW.share := coalesce(NEW.share, 'NONE');
    NEW.weights := coalesce(NEW.weights, '{}');
    IF octet_length(array_to_string(NEW.key_path, '')) > 1000 THEN
        RAISE EXCEPTION 'key_path has at most 1,000 bytes' USING ERRCODE = 'check_violation', HINT = 'Name a place near the top of the payload.';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.created_at := now();
        NEW.adopted := false;
    ELSE
        IF NEW.name <> OLD.name THEN
            RAISE EXCEPTION 'a limit keeps its name' USING ERRCODE = 'RR003', HINT = 'Insert another one and delete this one.';
        END IF;
        NEW.created_at := OLD.created_at;
        IF (NEW.type, NEW.queue, NEW.key_path) IS DISTINCT FROM (OLD.type, OLD.queue, OLD.key_path) THEN
            NEW.id := nextval('rowrun.concurrency_limit_id_seq');
            NEW.adopted := false;
        ELSE
            NEW.id := OLD.id;
            IF NEW.max_running < coalesce(OLD.max_running, 2147483647) OR OLD.rate IS NULL AND NEW.rate IS NOT NULL THEN
                -- AVAILABLE runs may have places that are no more, or have taken no token
                NEW.adopted := false;
            END IF;
        END IF;
    END IF;
    -- Claims of the first release leave runs with a key alone, but know nothing of a limit that is made later.
    old_replica := (SELECT coalesce(nullif(h.name, ''), h.replica_id) FROM replica_heartbeat h
                    WHERE h.release IS NULL AND h.version <> '' AND NOT h.worker AND h.role = 'worker' AND h.state <> 'DEAD'
                      AND h.last_heartbeat + h.lease > clock_timestamp() LIMIT 1);
    IF old_replica IS NOT NULL AND (TG_OP = 'INSERT' OR NOT (NEW.adopted AND NOT OLD.adopted)) THEN
        RAISE EXCEPTION 'replica % is of a release that knows no limits', old_replica
            USING ERRCODE = 'RR005', HINT = 'Bring all replicas to this release first; one that is gone counts until its lease is over.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.concurrency_limit_fill() IS 'Trigger: NULLs get their defaults; what a limit is; no limit beside replicas that know none.';
CREATE OR REPLACE TRIGGER concurrency_limit_fill BEFORE INSERT OR UPDATE ON rowrun.concurrency_limit
    FOR EACH ROW EXECUTE FUNCTION rowrun.concurrency_limit_fill();

-- The keys for which runs wait, each once.
CREATE OR REPLACE FUNCTION rowrun.limit_waits() RETURNS TABLE (limit_key text) LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH RECURSIVE w AS (
        (SELECT r.limit_wait FROM rowrun.task_run r
         WHERE r.limit_wait IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE') ORDER BY r.limit_wait LIMIT 1)
        UNION ALL
        SELECT (SELECT r.limit_wait FROM rowrun.task_run r
                WHERE r.limit_wait > w.limit_wait AND r.status IN ('PENDING', 'AVAILABLE') ORDER BY r.limit_wait LIMIT 1)
        FROM w WHERE w.limit_wait IS NOT NULL
    )
    SELECT w.limit_wait FROM w WHERE w.limit_wait IS NOT NULL;
END;
COMMENT ON FUNCTION rowrun.limit_waits() IS 'Internal: the keys for which runs wait.';

-- A limit that was made, changed or deleted: who waits for it is asked again. What it counted under its old keys goes with these.
CREATE OR REPLACE FUNCTION rowrun.concurrency_limit_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id = OLD.id AND NEW.adopted AND NOT OLD.adopted THEN -- a pass has counted what it found
            RETURN NULL;
        END IF;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        -- A run of this limit and of a FAIR one waits along the key of that.
        INSERT INTO gate_mark (kind, limit_key)
        SELECT 'LIMIT', w.limit_key FROM limit_waits() w WHERE starts_with(w.limit_key, OLD.id || ':')
        UNION ALL
        SELECT 'LIMIT', l.id || ':' FROM concurrency_limit l WHERE l.share = 'FAIR' AND l.id <> OLD.id;
        IF TG_OP = 'DELETE' OR NEW.id IS DISTINCT FROM OLD.id OR NEW.share IS DISTINCT FROM OLD.share THEN
            PERFORM FROM limit_clock c WHERE c.limit_id = OLD.id FOR UPDATE; -- first: passes without it leave its turns alone
        END IF;
        IF TG_OP = 'DELETE' OR NEW.id IS DISTINCT FROM OLD.id THEN
            DELETE FROM limit_holder h WHERE starts_with(h.limit_key, OLD.id || ':');
            DELETE FROM limit_bucket b WHERE starts_with(b.limit_key, OLD.id || ':');
            -- Without a limit a run needs no replica to become AVAILABLE, but for its database's sake.
            INSERT INTO gate_mark (kind, run_id)
            SELECT 'RUN', r.id FROM task_run r
            WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' AND r.database_id IS NULL
              AND (OLD.type IS NULL OR r.type = OLD.type) AND (OLD.queue IS NULL OR r.queue = OLD.queue);
        END IF;
        IF OLD.rate IS NULL AND NEW.rate IS NOT NULL THEN -- NEW is NULL at a DELETE
            UPDATE limit_holder h SET paid = false
            WHERE starts_with(h.limit_key, OLD.id || ':') AND h.paid
              AND EXISTS (SELECT FROM task_run r WHERE r.id = h.run_id AND coalesce(r.status, '') = 'AVAILABLE');
        END IF;
        IF TG_OP = 'DELETE' OR NEW.id IS DISTINCT FROM OLD.id OR NEW.share IS DISTINCT FROM OLD.share THEN
            UPDATE limit_holder h SET share_id = NULL, turn = NULL WHERE h.share_id = OLD.id;
            DELETE FROM limit_turn w WHERE w.limit_id = OLD.id;
            DELETE FROM limit_clock c WHERE c.limit_id = OLD.id;
        END IF;
    END IF;
    IF TG_OP <> 'DELETE' THEN -- a pass counts what is AVAILABLE and RUNNING
        INSERT INTO gate_mark (kind, limit_key) VALUES ('LIMIT', NEW.id || ':');
    END IF;
    PERFORM notify_look();
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.concurrency_limit_changed() IS 'Trigger: a limit was made, changed or deleted.';
CREATE OR REPLACE TRIGGER concurrency_limit_changed AFTER INSERT OR UPDATE OR DELETE ON rowrun.concurrency_limit
    FOR EACH ROW EXECUTE FUNCTION rowrun.concurrency_limit_changed();

-- What operators call to delete one: DELETE on a whole table would let them lock it.
CREATE OR REPLACE FUNCTION rowrun.delete_limit(name text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM concurrency_limit l WHERE l.name = delete_limit.name;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION rowrun.delete_limit(text) IS 'Deletes a limit; whether there was one. What it held back goes on.';
