-- stream_gaps
-- Ranges of ids without a row among the last 100,000 rows: transactions that are open may still fill them.
-- Returns: up to 1,000 rows, descending: the first and the last id
SELECT g.below + 1, g.id - 1
FROM (SELECT r.id, coalesce(lead(r.id) OVER (ORDER BY r.id DESC), CASE WHEN count(*) OVER () < 100000 THEN 0 END) AS below
      FROM (SELECT x.id FROM rowrun.task_run x ORDER BY x.id DESC LIMIT 100000) r) g
WHERE g.below + 1 < g.id
ORDER BY g.id DESC LIMIT 1000
