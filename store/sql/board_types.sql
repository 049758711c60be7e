-- board_types
-- The types that live replicas, rules, the newest tasks and the runs that wait or run name. What it counts is bounded.
-- Returns: store.BoardType: type, replicas, tasks, PENDING, AVAILABLE, RUNNING, orphans, draining, alias, and whether these four
--   counts are whole
WITH k AS MATERIALIZED (SELECT x.type FROM rowrun.task x ORDER BY x.id DESC LIMIT 10000),
a AS MATERIALIZED (SELECT x.type FROM rowrun.task_run x WHERE x.status = 'AVAILABLE' LIMIT 10000),
w AS MATERIALIZED (SELECT x.type FROM rowrun.task_run x WHERE x.status = 'RUNNING' LIMIT 10000),
p AS MATERIALIZED (SELECT x.type FROM rowrun.pending_runs() x LIMIT 10000),
h AS (SELECT t.type, count(*) AS replicas FROM rowrun.replica_heartbeat b CROSS JOIN unnest(b.types) t(type)
      WHERE b.state = 'ACTIVE' AND b.last_heartbeat + b.lease > clock_timestamp() GROUP BY t.type),
kc AS (SELECT type, count(*) AS n FROM k GROUP BY type), pc AS (SELECT type, count(*) AS n FROM p GROUP BY type),
ac AS (SELECT type, count(*) AS n FROM a GROUP BY type), wc AS (SELECT type, count(*) AS n FROM w GROUP BY type)
SELECT t.type, coalesce(h.replicas, 0), coalesce(kc.n, 0), coalesce(pc.n, 0), coalesce(ac.n, 0), coalesce(wc.n, 0),
    coalesce(o.pending + o.available, 0), coalesce(e.draining, false), e.alias_of,
    (SELECT count(*) < 10000 FROM k), (SELECT count(*) < 10000 FROM p), (SELECT count(*) < 10000 FROM a), (SELECT count(*) < 10000 FROM w)
FROM (SELECT type FROM kc UNION SELECT type FROM pc UNION SELECT type FROM ac UNION SELECT type FROM wc UNION SELECT type FROM h
      UNION SELECT type FROM rowrun.task_type WHERE draining OR alias_of IS NOT NULL) t
LEFT JOIN h USING (type) LEFT JOIN kc USING (type) LEFT JOIN pc USING (type) LEFT JOIN ac USING (type) LEFT JOIN wc USING (type)
LEFT JOIN rowrun.orphan_type o USING (type) LEFT JOIN rowrun.task_type e USING (type)
ORDER BY t.type LIMIT 1000
