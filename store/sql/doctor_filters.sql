-- doctor_filters
-- What filters of webhooks name as tasks, and no task without a plan is: renamed, deleted, mistyped, or not made yet.
-- Returns: up to 100 rows: webhook, its name, what is named
SELECT w.id, w.name, n.named
FROM rowrun.webhook w
CROSS JOIN LATERAL jsonb_path_query(w.filter, '$.task[*]') x(text)
CROSS JOIN LATERAL (SELECT x.text #>> '{}' AS named) n
WHERE w.enabled AND w.filter IS NOT NULL
  AND NOT EXISTS (SELECT FROM rowrun.task k WHERE k.plan_id IS NULL AND k.name <> '' AND k.name = n.named)
  AND NOT EXISTS (SELECT FROM rowrun.task k WHERE k.plan_id IS NULL AND k.id = CASE WHEN n.named ~ '^[0-9]{1,18}$' THEN n.named::bigint END)
ORDER BY w.id, n.named LIMIT 100
