-- Limits cost nothing where there has never been one: that is asked of the sequence of their ids, which moves before the first
-- one is inserted, let alone committed. So nobody who is told "none" overlooks one that was committed before. Inlined where it
-- is called.
CREATE OR REPLACE FUNCTION rowrun.may_be_limited() RETURNS boolean LANGUAGE sql VOLATILE
    RETURN pg_sequence_last_value('rowrun.concurrency_limit_id_seq'::regclass) IS NOT NULL;
COMMENT ON FUNCTION rowrun.may_be_limited() IS 'Internal: whether there may be a limit; false: there has never been one.';

-- Whether a limit may apply to runs of these queues (NULL: of any) and types. Of limits that are committed by now, whatever the snapshot of
-- the caller's statement; a pass that meets a later one first counts what is AVAILABLE and RUNNING.
CREATE OR REPLACE FUNCTION rowrun.may_limit(queues text[], types text[]) RETURNS boolean LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM concurrency_limit l
                   WHERE (l.type IS NULL OR l.type = ANY (may_limit.types)) AND (l.queue IS NULL OR may_limit.queues IS NULL OR l.queue = ANY (may_limit.queues)));
END $$;
COMMENT ON FUNCTION rowrun.may_limit(text[], text[]) IS 'Internal: whether a limit may apply to runs of these queues and types.';

-- A limit with the key of a run, as a text: what a run is counted under. NULL: the run has no such key. What is long is
-- represented by its hash. Inlined where it is called: all of it is immutable, so numbers are cast.
CREATE OR REPLACE FUNCTION rowrun.limit_key_of(limit_id bigint, key_path text[], document jsonb) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN limit_id::text || ':' || CASE WHEN key_path IS NULL THEN ''
        WHEN octet_length(document #>> key_path) <= 200 THEN document #>> key_path
        ELSE '#' || hashtextextended(document #>> key_path, 0)::text || '#' || hashtextextended(document #>> key_path, 1)::text END;
COMMENT ON FUNCTION rowrun.limit_key_of(bigint, text[], jsonb) IS 'Internal: a limit with the key of a run; NULL: it has none.';

-- The limit of a key that limit_key_of made; NULL: another text, which a role that writes rows may have put there. Inlined where it is
-- called.
CREATE OR REPLACE FUNCTION rowrun.limit_id_of(limit_key text) RETURNS bigint LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN limit_key ~ '^[0-9]{1,18}:' THEN split_part(limit_key, ':', 1)::bigint END;
COMMENT ON FUNCTION rowrun.limit_id_of(text) IS 'Internal: the limit of a key; NULL: it is none.';

-- The limits that apply to a run, each with its key, in the order in which they were made. A key that was drawn before stays; of a
-- limit that was made since it is drawn from the run as it is now. payload is the task's. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.limits_on(r rowrun.task_run, payload jsonb) RETURNS TABLE (limit_keys text[]) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT array_agg(k.limit_key ORDER BY l.id)
    FROM rowrun.concurrency_limit l
    CROSS JOIN LATERAL (
        SELECT coalesce((SELECT d.limit_key FROM unnest(r.limit_keys) d(limit_key) WHERE starts_with(d.limit_key, l.id || ':') LIMIT 1),
                        rowrun.limit_key_of(l.id, l.key_path, payload || r.input)) AS limit_key) k
    WHERE (l.type IS NULL OR l.type = r.type) AND (l.queue IS NULL OR l.queue = r.queue) AND k.limit_key IS NOT NULL;
END;
COMMENT ON FUNCTION rowrun.limits_on(rowrun.task_run, jsonb) IS 'Internal: the limits that apply to a run, with its keys.';

-- Of these runs those that a limit applies to.
CREATE OR REPLACE FUNCTION rowrun.limited_of(run_ids bigint[]) RETURNS TABLE (id bigint, limit_keys text[]) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT r.id, s.limit_keys
    FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id CROSS JOIN LATERAL rowrun.limits_on(r, k.payload) s
    WHERE r.id = ANY (limited_of.run_ids) AND s.limit_keys IS NOT NULL;
END;
COMMENT ON FUNCTION rowrun.limited_of(bigint[]) IS 'Internal: of these runs those that a limit applies to.';

-- A new run that nothing but a limit may hold: a mark has its key looked at. A burst of a transaction leaves one, where the last of
-- those that wait there is the transaction's own.
CREATE OR REPLACE FUNCTION rowrun.mark_limited(limit_key text, once boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
BEGIN
    IF mark_limited.once AND (
        SELECT m.created_at = now() FROM task_run m
        WHERE m.limit_wait = mark_limited.limit_key AND m.status = 'PENDING'
        ORDER BY m.limit_wait DESC, m.status DESC, m.priority, m.run_at DESC, m.id DESC LIMIT 1)
    THEN
        RETURN;
    END IF;
    INSERT INTO gate_mark (kind, limit_key) VALUES ('LIMIT', mark_limited.limit_key);
END $$;
COMMENT ON FUNCTION rowrun.mark_limited(text, boolean) IS 'Internal: a mark for the runs that a limit may let go.';

-- The keys of a new run, for the fill trigger. One that would be AVAILABLE waits for the first of them.
CREATE OR REPLACE FUNCTION rowrun.limit_new_run(r rowrun.task_run) RETURNS rowrun.task_run LANGUAGE plpgsql
    SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    r.limit_keys := (SELECT s.limit_keys FROM task k CROSS JOIN LATERAL limits_on(r, k.payload) s WHERE k.id = r.task_id);
    IF r.limit_keys IS NOT NULL AND r.status = 'AVAILABLE' THEN
        r.status := 'PENDING';
        r.available_at := NULL;
        r.cause := 'LIMIT';
        r.limit_wait := coalesce((SELECT f.limit_key FROM fair_key(r.limit_keys) f), r.limit_keys[1]);
        PERFORM mark_limited(r.limit_wait, true);
    END IF;
    RETURN r;
END $$;
COMMENT ON FUNCTION rowrun.limit_new_run(rowrun.task_run) IS 'Internal: a new run with its limits.';
