-- lock_old_plans
-- Locks plans that have outlived all they are kept for, as far as nobody else holds them.
-- $1 float8: how many seconds they are kept
-- $2 float8: how many where runs are FAILED
-- $3 bigint: plans from behind this one
-- $4 bigint: up to this one
-- Returns: the plans that are locked
SELECT p.id FROM rowrun.plan p
WHERE p.id > $3 AND p.id <= $4 AND p.created_at < clock_timestamp() - make_interval(secs => $1) AND rowrun.plan_is_old(p, $1, $2)
ORDER BY p.id FOR UPDATE OF p SKIP LOCKED
