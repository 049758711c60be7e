-- list_plans
-- Plans, the newest first. It is planned for its parameters.
-- The status is asked plan by plan, from the newest on: OFFSET 0 keeps the planner from computing all of them first.
-- $1 text: project; '': any
-- $2 text[]: statuses; '{}': any
-- $3 bigint: how many at most
-- Returns: rows by name store.Plan
SELECT p.id, p.project, p.name, s.status, p.paused, p.parallel_limit, p.on_failure, p.round, p.created_at,
       s.tasks, s.not_started, s.pending, s.available, s.running, s.done, s.skipped, s.failed, s.canceled
FROM rowrun.plan p CROSS JOIN LATERAL (SELECT * FROM rowrun.plan_status x WHERE x.plan_id = p.id OFFSET 0) s
WHERE ($1 = '' OR p.project = $1) AND (cardinality($2::text[]) = 0 OR s.status = ANY ($2))
ORDER BY p.id DESC LIMIT $3
