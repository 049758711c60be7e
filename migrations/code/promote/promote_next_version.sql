-- What a pass would do for databases on which runs have just ended, where that is simple: nothing is active there, and the
-- first that waits in the order of versions, priority and time is the only one that may start, held by its predecessor
-- alone. That is most of what migrations do, and takes a fraction of a pass, because it needs no mark and no judgement of
-- candidates against each other. A database on which something waits that it doesn't serve gets a mark for the next
-- pass, unless all that waits is behind a smaller version that is still active. It promotes under the lock of the passes,
-- and judges as they do (rowrun.closed_gate, rowrun.promote_runs); the ends were written by a statement before. What of
-- that the request takes, if there is one, is RUNNING at once: the claims.
CREATE OR REPLACE FUNCTION rowrun.promote_next_version(databases text[], request rowrun.claim_request DEFAULT NULL,
    OUT promoted integer, OUT marked integer, OUT claims rowrun.claimed_run[])
    LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz;
    last_mark bigint;
    firsts record;
    step record;
    ids bigint[] := '{}';
BEGIN
    promoted := 0;
    marked := 0;
    claims := '{}';
    IF NOT rowrun.lock_promotion() THEN
        INSERT INTO rowrun.gate_mark (kind, database_id) SELECT 'DATABASE', unnest(databases);
        marked := cardinality(databases);
        RETURN;
    END IF;
    last_mark := coalesce(pg_sequence_last_value('rowrun.gate_mark_id_seq'), 0);
    t := clock_timestamp(); -- as in promote_runs
    WITH first AS MATERIALIZED (
        SELECT d.id AS database_id, r.id,
               r.plan_id IS NULL AND r.missed_at IS NULL AND a.is_there IS NULL
               AND (NOT rowrun.may_be_limited() OR NOT EXISTS (SELECT FROM rowrun.limited_of(ARRAY[r.id])))
               AND (r.version_key IS NULL OR NOT EXISTS (
                   SELECT FROM rowrun.task_run u WHERE u.database_id = d.id AND u.status = 'PENDING' AND u.version_key IS NULL))
               AND (r.sequential
                    OR (SELECT count(*) FROM (SELECT FROM rowrun.task_run u WHERE u.database_id = d.id AND u.status = 'PENDING'
                                              AND u.version_key = r.version_key LIMIT 2) u) = 1)
               AND EXISTS (
                   SELECT FROM rowrun.task k
                   JOIN rowrun.replica_heartbeat h ON rowrun.takes(h, t, r.queue, r.type, r.database_id, k.payload)
                   WHERE k.id = r.task_id AND rowrun.own_cause(k, r.missed_at, t) IS NULL) AS simple,
               coalesce(a.version_key < r.version_key, false) AND NOT EXISTS (
                   SELECT FROM rowrun.task_run u WHERE u.database_id = d.id AND u.status = 'PENDING' AND u.version_key IS NULL) AS blocked
        FROM unnest(databases) d(id)
        CROSS JOIN LATERAL (
            SELECT * FROM rowrun.task_run r WHERE r.database_id = d.id AND r.status = 'PENDING'
            ORDER BY r.version_key, r.sequential, r.priority DESC, r.run_at, r.id LIMIT 1) r
        LEFT JOIN LATERAL (
            SELECT true AS is_there, a.version_key FROM rowrun.task_run a WHERE a.database_id = d.id AND a.status IN ('AVAILABLE', 'RUNNING')
            ORDER BY a.version_key LIMIT 1) a ON true
    ), locked AS MATERIALIZED (
        SELECT r.id FROM rowrun.task_run r
        WHERE r.id = ANY (ARRAY(SELECT f.id FROM first f WHERE f.simple))
          AND coalesce(r.status, '') = 'PENDING' AND r.cause = 'DATABASE' -- then it is due as well
        FOR NO KEY UPDATE SKIP LOCKED
    )
    SELECT ARRAY(SELECT l.id FROM locked l) AS ids, greatest(t, (SELECT max(m.at) FROM rowrun.gate_mark m WHERE m.id > last_mark)) AS t,
           coalesce(array_agg(f.database_id), '{}') AS open_databases, array_agg(f.id) AS open_ids
    INTO firsts FROM first f WHERE NOT f.blocked;
    IF cardinality(firsts.ids) > 0 THEN
        step := rowrun.let_start(firsts.ids, firsts.t, request);
        ids := step.ids;
        promoted := cardinality(ids);
        claims := step.claims;
    END IF;
    IF cardinality(firsts.open_databases) > promoted THEN
        INSERT INTO rowrun.gate_mark (kind, database_id)
        SELECT 'DATABASE', f.database_id FROM unnest(firsts.open_databases, firsts.open_ids) f(database_id, id)
        WHERE f.id <> ALL (ids);
        GET DIAGNOSTICS marked = ROW_COUNT;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.promote_next_version(text[], rowrun.claim_request) IS 'Internal: promotes the next version on databases where runs have ended, or leaves a mark.';
