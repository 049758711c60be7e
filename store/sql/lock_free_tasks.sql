-- lock_free_tasks
-- Locks the tasks of runs of plans and ticks, as far as nobody else holds them.
-- $1 bigint[]: runs
-- $2 bigint[]: plans that are locked; of runs that belong to a plan only theirs are taken
-- Returns: tasks that are locked
SELECT k.id FROM rowrun.task k
WHERE k.id = ANY (ARRAY(SELECT r.task_id FROM rowrun.task_run r WHERE r.id = ANY ($1) AND (r.plan_id = ANY ($2) OR r.tick IS NOT NULL)))
ORDER BY k.id FOR NO KEY UPDATE SKIP LOCKED
