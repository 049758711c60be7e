-- board_find_plans
-- The ids of a page of plans.
-- $1 text: filter, as rowrun.find_plans takes it
-- $2 boolean: true: the newest first
-- $3 bigint: only above this id
-- $4 bigint: only up to this id
-- $5 integer: how many at most
-- $6 integer: how many to look at
-- Returns: ids in order, how far it looked, whether that was all, when the plan there was made
SELECT f.ids, f.reached, f.over, (SELECT p.created_at FROM rowrun.plan p WHERE p.id = f.reached)
FROM rowrun.find_plans($1::text::jsonb, $2, $3, $4, $5, $6) f
