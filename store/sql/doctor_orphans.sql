-- doctor_orphans
-- Kinds of runs that no live replica can take.
-- The indexes are skipped through from one kind to the next: a million runs of one kind are one step.
-- Returns: up to 100 rows: queue, type, target database ('': none), one of the runs
WITH RECURSIVE available AS (
    (SELECT r.queue, r.type FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' ORDER BY r.queue, r.type LIMIT 1)
    UNION ALL
    SELECT n.queue, n.type FROM available a CROSS JOIN LATERAL (
        SELECT r.queue, r.type FROM rowrun.task_run r
        WHERE r.status = 'AVAILABLE' AND (r.queue, r.type) > (a.queue, a.type) ORDER BY r.queue, r.type LIMIT 1) n
), held AS (
    (SELECT r.queue, r.type, r.database_id FROM rowrun.task_run r
     WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' AND r.database_id IS NOT NULL ORDER BY r.queue, r.type, r.database_id LIMIT 1)
    UNION ALL
    SELECT n.queue, n.type, n.database_id FROM held h CROSS JOIN LATERAL (
        SELECT r.queue, r.type, r.database_id FROM rowrun.task_run r
        WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' AND (r.queue, r.type, r.database_id) > (h.queue, h.type, h.database_id)
        ORDER BY r.queue, r.type, r.database_id LIMIT 1) n
), limited AS (
    (SELECT r.queue, r.type FROM rowrun.task_run r
     WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' AND r.database_id IS NULL ORDER BY r.queue, r.type LIMIT 1)
    UNION ALL
    SELECT n.queue, n.type FROM limited l CROSS JOIN LATERAL (
        SELECT r.queue, r.type FROM rowrun.task_run r
        WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' AND r.database_id IS NULL AND (r.queue, r.type) > (l.queue, l.type)
        ORDER BY r.queue, r.type LIMIT 1) n
), kinds AS (
    SELECT queue, type, NULL AS database_id, 'AVAILABLE' AS status FROM (SELECT queue, type FROM available LIMIT 100) a
    UNION ALL
    SELECT queue, type, database_id, 'PENDING' FROM (SELECT queue, type, database_id FROM held LIMIT 100) h
    UNION ALL
    SELECT queue, type, NULL, 'PENDING' FROM (SELECT queue, type FROM limited LIMIT 100) l
)
SELECT k.queue, k.type, coalesce(k.database_id, ''), one.id
FROM kinds k CROSS JOIN LATERAL (
    SELECT r.id FROM rowrun.task_run r
    WHERE r.status = k.status AND r.queue = k.queue AND r.type = k.type AND (k.database_id IS NULL OR r.database_id = k.database_id)
      AND (k.status = 'AVAILABLE' OR r.cause = 'NO_REPLICA') LIMIT 1) one
WHERE NOT EXISTS (
    SELECT FROM rowrun.replica_heartbeat h
    WHERE rowrun.takes(h, clock_timestamp(), k.queue, k.type, k.database_id, NULL))
ORDER BY 1, 2, 3 LIMIT 100
