-- find_plan
-- A plan with its status and how many of its tasks have which.
-- $1 bigint: plan
-- Returns: at most one row, by name store.Plan
SELECT p.id, p.project, p.name, s.status, p.paused, p.parallel_limit, p.on_failure, p.round, p.created_at,
       s.tasks, s.not_started, s.pending, s.available, s.running, s.done, s.skipped, s.failed, s.canceled
FROM rowrun.plan p CROSS JOIN LATERAL (SELECT * FROM rowrun.plan_status x WHERE x.plan_id = p.id OFFSET 0) s
WHERE p.id = $1
