-- lock_free_runs
-- Locks runs, as far as nobody else holds them.
-- $1 bigint[]: runs
-- $2 bigint[]: tasks that are locked; of runs that belong to a plan or a tick only theirs are taken
-- Returns: runs that are locked
SELECT r.id FROM rowrun.task_run r WHERE r.id = ANY ($1) AND (num_nonnulls(r.plan_id, r.tick) = 0 OR r.task_id = ANY ($2))
ORDER BY r.id FOR NO KEY UPDATE SKIP LOCKED
