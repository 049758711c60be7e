-- By kind first: a million runs that nobody can take cost a few looks.
CREATE OR REPLACE FUNCTION rowrun.waiting_for_replicas(t timestamptz) RETURNS TABLE (id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH RECURSIVE kinds AS (
        (SELECT r.queue, r.type, coalesce(r.database_id, '') AS database_id, r.database_id IS NULL AS none
         FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' ORDER BY r.queue, r.type, r.database_id LIMIT 1)
        UNION ALL
        SELECT n.queue, n.type, coalesce(n.database_id, ''), n.database_id IS NULL
        FROM kinds k
        CROSS JOIN LATERAL (
            (SELECT r.queue, r.type, r.database_id FROM rowrun.task_run r
             WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' AND NOT k.none
               AND r.queue = k.queue AND r.type = k.type AND r.database_id > k.database_id
             ORDER BY r.queue, r.type, r.database_id LIMIT 1)
            UNION ALL
            (SELECT r.queue, r.type, r.database_id FROM rowrun.task_run r
             WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' AND NOT k.none
               AND r.queue = k.queue AND r.type = k.type AND r.database_id IS NULL
             ORDER BY r.queue, r.type, r.database_id LIMIT 1)
            UNION ALL
            (SELECT r.queue, r.type, r.database_id FROM rowrun.task_run r
             WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' AND (r.queue, r.type) > (k.queue, k.type)
             ORDER BY r.queue, r.type, r.database_id LIMIT 1)
            LIMIT 1
        ) n
    ), fitting AS MATERIALIZED (
        SELECT k.queue, k.type, k.database_id, k.none FROM kinds k
        WHERE EXISTS (SELECT FROM rowrun.replica_heartbeat h
                      WHERE rowrun.takes(h, waiting_for_replicas.t, k.queue, k.type, CASE WHEN NOT k.none THEN k.database_id END, NULL))
    )
    SELECT r.id FROM fitting f
    CROSS JOIN LATERAL (
        SELECT q.id, q.queue, q.type, q.database_id, q.task_id FROM rowrun.task_run q WHERE q.status = 'PENDING' AND q.cause = 'NO_REPLICA'
           AND q.queue = f.queue AND q.type = f.type AND NOT f.none AND q.database_id = f.database_id
        UNION ALL
        SELECT q.id, q.queue, q.type, q.database_id, q.task_id FROM rowrun.task_run q WHERE q.status = 'PENDING' AND q.cause = 'NO_REPLICA'
           AND q.queue = f.queue AND q.type = f.type AND f.none AND q.database_id IS NULL
    ) r
    JOIN rowrun.task k ON k.id = r.task_id
    WHERE r.type <> 'COMMAND'
       OR EXISTS (SELECT FROM rowrun.replica_heartbeat h WHERE rowrun.takes(h, waiting_for_replicas.t, r.queue, r.type, r.database_id, k.payload))
    LIMIT 2000;
END;
COMMENT ON FUNCTION rowrun.waiting_for_replicas(timestamptz) IS 'Internal: runs that no replica could take, and one can now.';
