-- board_plans
-- Plans, the newest first. It is planned for its parameters.
-- The status is asked plan by plan, from the newest on, as it is counted from the plan's tasks.
-- $1 text[]: statuses; '{}': any
-- $2 text: a part of the name; '': any
-- $3 text: project; '': any
-- $4 bigint: up to this id
-- $5 bigint: how many at most
-- $6 bigint: how many to look at
-- Returns: store.BoardPlan
SELECT p.id, p.project, p.name, s.status, p.paused, p.on_failure, p.round, p.parallel_limit, s.tasks,
    s.not_started, s.pending, s.available, s.running, s.done, s.skipped, s.failed, s.canceled,
    s.failed + s.canceled + (SELECT count(*) FROM rowrun.task_run r WHERE r.plan_id = p.id
        AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND r.status = 'PENDING' AND r.cause = 'NO_REPLICA'), p.created_at
FROM (SELECT x.id, x.project, x.name, x.paused, x.on_failure, x.round, x.parallel_limit, x.created_at FROM rowrun.plan x
      WHERE x.id <= $4 ORDER BY x.id DESC LIMIT $6) p
CROSS JOIN LATERAL (SELECT * FROM rowrun.plan_status x WHERE x.plan_id = p.id OFFSET 0) s
WHERE ($3 = '' OR p.project = $3) AND ($2 = '' OR position(lower($2) IN lower(p.name)) > 0)
  AND (cardinality($1::text[]) = 0 OR s.status = ANY ($1))
ORDER BY p.id DESC LIMIT $5
