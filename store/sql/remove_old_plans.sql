-- remove_old_plans
-- Removes plans, which are locked with their tasks, that have outlived all they are kept for: what came before the locks counts.
-- $1 bigint[]: the plans
-- $2 float8: how many seconds they are kept
-- $3 float8: how many where runs are FAILED
-- Returns: no row; it changes as many as are removed
DELETE FROM rowrun.plan x WHERE x.id = ANY (ARRAY(SELECT p.id FROM rowrun.plan p WHERE p.id = ANY ($1) AND rowrun.plan_is_old(p, $2, $3)))
