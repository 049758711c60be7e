-- The queues and types of runs that wait for a replica, a thousand at most, along their index.
CREATE OR REPLACE FUNCTION rowrun.kinds_without_replica() RETURNS TABLE (queue text, type text) LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH RECURSIVE kinds AS (
        (SELECT r.queue, r.type, 1 AS n FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' ORDER BY r.queue, r.type, r.database_id LIMIT 1)
        UNION ALL
        SELECT x.queue, x.type, k.n + 1
        FROM kinds k
        CROSS JOIN LATERAL (SELECT r.queue, r.type FROM rowrun.task_run r
                            WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' AND (r.queue, r.type) > (k.queue, k.type)
                            ORDER BY r.queue, r.type, r.database_id LIMIT 1) x
        WHERE k.n < 1000
    )
    SELECT k.queue, k.type FROM kinds k;
END;
COMMENT ON FUNCTION rowrun.kinds_without_replica() IS 'Internal: the queues and types of runs that wait for a replica.';

-- Whether a replica could take one of the runs that wait for one. The safety net of sweeps: a heartbeat leaves a mark where half of its lease was
-- over, and where the server's clock was set back meanwhile it wasn't. By queue and type first, and of each replica some of its
-- databases, others each time, so that a million runs that nobody can take cost a few looks.
CREATE OR REPLACE FUNCTION rowrun.overlooked_replicas(t timestamptz) RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM kinds_without_replica() k
        CROSS JOIN LATERAL (SELECT h.databases FROM replica_heartbeat h
                            WHERE h.state = 'ACTIVE' AND h.last_heartbeat + h.lease > t AND (k.queue = ANY (h.queues) OR h.worker) AND k.type = ANY (h.types)
                            ORDER BY random() LIMIT 5) h
        WHERE k.type <> 'COMMAND' -- each of which has a command of its own
          AND (k.type NOT IN ('SQL', 'DATABASE_MIGRATE')
               OR EXISTS (SELECT FROM task_run r WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA'
                            AND r.queue = k.queue AND r.type = k.type AND r.database_id IS NULL)
               OR EXISTS (SELECT FROM (SELECT d FROM unnest(h.databases) d ORDER BY random() LIMIT 100) x
                          WHERE EXISTS (SELECT FROM task_run r WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA'
                                          AND r.queue = k.queue AND r.type = k.type AND r.database_id = x.d))));
END $$;
COMMENT ON FUNCTION rowrun.overlooked_replicas(timestamptz) IS 'Internal: whether a replica could take a run that waits for one.';

-- The safety net of sweeps, where what holds runs was taken away beside the INSERT or the judgement of one: its mark names
-- what could be seen. A page from anywhere on, so that each gets its turn, of those that a failed version holds, of those of tasks that are paused, and
-- some that wait for a replica and have no database: without a limit these need none.
CREATE OR REPLACE FUNCTION rowrun.overlooked_held() RETURNS bigint[] LANGUAGE plpgsql
    SET enable_sort = off -- whatever the statistics say, one index has this order
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    last bigint;
    held bigint[] := '{}';
BEGIN
    SELECT r.plan_id INTO last FROM task_run r WHERE r.status = 'PENDING' AND r.cause = 'PLAN_FAILED' ORDER BY r.plan_id DESC, r.database_id DESC LIMIT 1;
    IF FOUND THEN
        held := ARRAY(SELECT r.id FROM task_run r
                      WHERE r.status = 'PENDING' AND r.cause = 'PLAN_FAILED' AND r.plan_id >= floor(random() * (last + 1))::bigint
                      ORDER BY r.plan_id, r.database_id LIMIT 25);
    END IF;
    SELECT r.task_id INTO last FROM task_run r WHERE r.status = 'PENDING' AND r.cause = 'PAUSED' ORDER BY r.task_id DESC LIMIT 1;
    IF FOUND THEN
        held := held || ARRAY(
            SELECT p.id FROM (SELECT r.id, r.task_id FROM task_run r
                              WHERE r.status = 'PENDING' AND r.cause = 'PAUSED' AND r.task_id >= floor(random() * (last + 1))::bigint
                              ORDER BY r.task_id LIMIT 25) p
            JOIN task k ON k.id = p.task_id WHERE NOT k.paused);
    END IF;
    RETURN held || ARRAY(
        SELECT r.id FROM (SELECT k.queue, k.type FROM kinds_without_replica() k ORDER BY random() LIMIT 5) k
        CROSS JOIN LATERAL (SELECT r.id FROM task_run r WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA'
                              AND r.queue = k.queue AND r.type = k.type AND r.database_id IS NULL LIMIT 5) r);
END $$;
COMMENT ON FUNCTION rowrun.overlooked_held() IS 'Internal: some of the runs that a failed version, a pause or a missing replica holds.';
