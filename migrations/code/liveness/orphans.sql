CREATE OR REPLACE VIEW rowrun.orphan_task_run WITH (security_invoker = true) AS
SELECT o.queue, o.type, o.database_id, o.command, o.pending, o.available, o.oldest
FROM (
    SELECT r.queue, r.type, CASE WHEN r.type IN ('SQL', 'DATABASE_MIGRATE') THEN r.database_id END AS database_id,
           CASE WHEN r.type = 'COMMAND' AND jsonb_typeof(k.payload -> 'command') = 'string' THEN k.payload ->> 'command' END AS command,
           count(*) FILTER (WHERE r.status = 'PENDING') AS pending, count(*) FILTER (WHERE r.status = 'AVAILABLE') AS available,
           min(r.created_at) AS oldest
    FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
    WHERE r.status IN ('PENDING', 'AVAILABLE')
    GROUP BY 1, 2, 3, 4
) o
WHERE NOT EXISTS (
    SELECT FROM rowrun.replica_heartbeat h
    WHERE rowrun.takes(h, clock_timestamp(), o.queue, o.type, o.database_id, jsonb_build_object('command', o.command)));
COMMENT ON VIEW rowrun.orphan_task_run IS 'Runs that wait and that no live replica could run: by queue, type, target database and command. Reads every run that waits.';

-- Looks for orphans and has the stream say what changed, and once a day what is still so; webhooks are told once, when the
-- stream is for the first time. A type must have been one for that long: between two replicas of a rolling restart nobody
-- runs it for a moment. However many replicas ask, it looks once in "every". What is read is bounded: of each queue and type 500 AVAILABLE runs, and of PENDING ones 2,000
-- that wait for a replica and 2,000 that are due first. Runs of a pair differ by command or target: where its 500 are full, and where
-- the 2,000 that wait for a replica are, an orphan may stand behind them, and a type that was one stays so.
CREATE OR REPLACE FUNCTION rowrun.record_orphans(patience interval, every interval) RETURNS integer LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t     timestamptz := clock_timestamp();
    noted integer;
    begun text[];
BEGIN
    PERFORM FROM rowrun.deployment FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0; -- another replica is at it
    END IF;
    UPDATE rowrun.deployment d SET orphans_looked_at = t WHERE (d.orphans_looked_at > t - every) IS NOT TRUE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    WITH RECURSIVE pair AS (
        (SELECT r.queue, r.type FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' ORDER BY r.queue, r.type LIMIT 1)
        UNION ALL
        SELECT n.queue, n.type FROM pair p CROSS JOIN LATERAL (
            SELECT r.queue, r.type FROM rowrun.task_run r
            WHERE r.status = 'AVAILABLE' AND (r.queue, r.type) > (p.queue, p.type) ORDER BY r.queue, r.type LIMIT 1) n
    ), waits AS MATERIALIZED (
        SELECT w.status, w.queue, w.type, w.database_id, w.task_id, false AS held
        FROM pair p CROSS JOIN LATERAL (
            SELECT r.status, r.queue, r.type, r.database_id, r.task_id FROM rowrun.task_run r
            WHERE r.status = 'AVAILABLE' AND r.queue = p.queue AND r.type = p.type LIMIT 500) w
        UNION ALL
        (SELECT r.status, r.queue, r.type, r.database_id, r.task_id, true FROM rowrun.task_run r
         WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' LIMIT 2000)
        UNION ALL
        (SELECT r.status, r.queue, r.type, r.database_id, r.task_id, false FROM rowrun.task_run r
         WHERE r.judge_at IS NOT NULL AND r.plan_id IS NULL AND r.database_id IS NULL ORDER BY r.judge_at LIMIT 2000)
    ), kind AS (
        SELECT w.queue, w.type, CASE WHEN w.type IN ('SQL', 'DATABASE_MIGRATE') THEN w.database_id END AS database_id,
               CASE WHEN w.type = 'COMMAND' AND jsonb_typeof(k.payload -> 'command') = 'string' THEN k.payload ->> 'command' END AS command,
               count(*) FILTER (WHERE w.status = 'PENDING') AS pending, count(*) FILTER (WHERE w.status = 'AVAILABLE') AS available
        FROM waits w JOIN rowrun.task k ON k.id = w.task_id
        GROUP BY 1, 2, 3, 4
    ), orphan AS MATERIALIZED (
        SELECT o.type, sum(o.pending)::bigint AS pending, sum(o.available)::bigint AS available FROM kind o
        WHERE NOT EXISTS (
            SELECT FROM rowrun.replica_heartbeat h
            WHERE rowrun.takes(h, t, o.queue, o.type, o.database_id, jsonb_build_object('command', o.command)))
        GROUP BY o.type
    ), unsure AS MATERIALIZED (
        SELECT w.type FROM waits w WHERE w.status = 'AVAILABLE' AND w.type IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND')
        GROUP BY w.queue, w.type HAVING count(*) >= 500
        UNION
        SELECT x.type FROM rowrun.orphan_type x WHERE x.pending > 0 AND (SELECT count(*) FROM waits w WHERE w.held) >= 2000
    ), told AS MATERIALIZED (
        SELECT x.type FROM rowrun.orphan_type x WHERE x.announced_at IS NOT NULL
    ), seen AS (
        INSERT INTO rowrun.orphan_type AS x (type, first_seen, pending, available)
        SELECT o.type, t, o.pending, o.available FROM orphan o
        ON CONFLICT (type) DO UPDATE SET pending = excluded.pending, available = excluded.available,
            announced_at = CASE WHEN x.first_seen <= t - patience AND coalesce(x.announced_at < t - interval '1 day', true)
                                THEN t ELSE x.announced_at END
        RETURNING x.type, x.announced_at, x.first_seen, x.pending, x.available
    ), gone AS (
        DELETE FROM rowrun.orphan_type x WHERE NOT EXISTS (SELECT FROM orphan o WHERE o.type = x.type)
          AND NOT EXISTS (SELECT FROM unsure u WHERE u.type = x.type)
        RETURNING x.type, x.announced_at
    ), said AS (
        INSERT INTO rowrun.stream_note (level, event, message, detail)
        SELECT 'warn', 'task_type.orphaned', 'runs wait that no live replica can run',
               jsonb_build_object('type', s.type, 'pending', s.pending, 'available', s.available, 'since', s.first_seen)
        FROM seen s WHERE s.announced_at = t
        UNION ALL
        SELECT 'info', 'task_type.served', 'no run of this type waits without a replica any more', jsonb_build_object('type', g.type)
        FROM gone g WHERE g.announced_at IS NOT NULL
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM said), (SELECT array_agg(s.type) FROM seen s WHERE s.announced_at = t AND s.type NOT IN (SELECT told.type FROM told))
    INTO noted, begun;
    IF begun IS NOT NULL THEN
        PERFORM rowrun.announce_orphans(begun);
    END IF;
    RETURN noted;
END $$;
COMMENT ON FUNCTION rowrun.record_orphans(interval, interval) IS 'Internal: looks for runs that no live replica could run, and has the stream say what changed.';
