-- lock_free_plans
-- Locks the plans of runs, as far as nobody else holds them.
-- $1 bigint[]: runs
-- Returns: plans that are locked
SELECT p.id FROM rowrun.plan p
WHERE p.id = ANY (ARRAY(SELECT r.plan_id FROM rowrun.task_run r WHERE r.id = ANY ($1) AND r.plan_id IS NOT NULL))
ORDER BY p.id FOR NO KEY UPDATE SKIP LOCKED
