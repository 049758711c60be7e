-- health_waiting
-- How many runs wait, by status and type, up to 10,000 of each status.
-- Returns: status, type, runs
SELECT 'PENDING', p.type, count(*)
FROM (SELECT w.type FROM rowrun.pending_runs() w LIMIT 10000) p GROUP BY p.type
UNION ALL
SELECT 'AVAILABLE', a.type, count(*)
FROM (SELECT r.type FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' LIMIT 10000) a GROUP BY a.type
