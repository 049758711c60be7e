-- apply_terms
-- Changes what holds back a plan's tasks.
-- $1 bigint: plan
-- $2 integer: parallel_limit; NULL: as it is
-- $3 text: on_failure; NULL: as it is
-- Returns: no row
UPDATE rowrun.plan SET parallel_limit = coalesce($2, parallel_limit), on_failure = coalesce($3, on_failure) WHERE id = $1
