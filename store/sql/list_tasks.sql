-- list_tasks
-- Tasks with the status of their newest run, the newest first. It is planned for its parameters.
-- The status is asked task by task, from the newest on: OFFSET 0 keeps the planner from computing all of them first.
-- $1 bigint: plan; NULL: any
-- $2 boolean: true: only tasks without a plan
-- $3 text: name; '': any
-- $4 text: type; '': any
-- $5 text[]: statuses; '{}': any
-- $6 bigint: how many at most
-- Returns: rows by name store.Task
SELECT k.id, k.plan_id, k.name, k.type, k.queue, k.database_id, k.version, k.sequential, k.priority, k.paused,
    k.skipped, k.skip_reason, k.created_at, s.status, s.last_run_id, s.result ->> 'code' AS code,
    left(s.result ->> 'detail', 4096) AS detail
FROM rowrun.task k
CROSS JOIN LATERAL (SELECT x.status, x.last_run_id, x.result FROM rowrun.task_status x WHERE x.task_id = k.id OFFSET 0) s
WHERE ($1::bigint IS NULL OR k.plan_id = $1) AND (NOT $2 OR k.plan_id IS NULL)
  AND ($3 = '' OR k.name = $3) AND ($4 = '' OR k.type = $4)
  AND (cardinality($5::text[]) = 0 OR s.status = ANY ($5))
ORDER BY k.id DESC LIMIT $6
