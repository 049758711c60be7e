-- list_types
-- Every type that a task, a run that isn't over, a live replica or a rule names. It reads all tasks and all runs that are
-- not over.
-- Returns: store.TypeStatus, by type
WITH k AS (SELECT type, count(*) AS tasks FROM rowrun.task GROUP BY type),
r AS (SELECT type, count(*) FILTER (WHERE status = 'PENDING') AS pending, count(*) FILTER (WHERE status = 'AVAILABLE') AS available,
             count(*) FILTER (WHERE status = 'RUNNING') AS running
      FROM (SELECT type, 'PENDING' AS status FROM rowrun.pending_runs()
            UNION ALL SELECT type, status FROM rowrun.task_run WHERE status = 'AVAILABLE'
            UNION ALL SELECT type, status FROM rowrun.task_run WHERE status = 'RUNNING') u GROUP BY type),
h AS (SELECT t.type, count(*) AS replicas FROM rowrun.replica_heartbeat b CROSS JOIN unnest(b.types) t(type)
      WHERE b.state = 'ACTIVE' AND b.last_heartbeat + b.lease > clock_timestamp() GROUP BY t.type),
o AS (SELECT type, sum(pending + available)::bigint AS orphans FROM rowrun.orphan_task_run GROUP BY type)
SELECT a.type, coalesce(h.replicas, 0), coalesce(k.tasks, 0), coalesce(r.pending, 0), coalesce(r.available, 0), coalesce(r.running, 0),
       coalesce(o.orphans, 0), coalesce(e.draining, false), e.alias_of, e.mapping
FROM (SELECT type FROM k UNION SELECT type FROM r UNION SELECT type FROM h UNION
      SELECT type FROM rowrun.task_type WHERE draining OR alias_of IS NOT NULL) a
LEFT JOIN k USING (type) LEFT JOIN r USING (type) LEFT JOIN h USING (type) LEFT JOIN o USING (type)
LEFT JOIN rowrun.task_type e USING (type)
ORDER BY a.type
