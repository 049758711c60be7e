-- board_plans_edge
-- Where the look of board_plans ended.
-- $1 bigint: up to which id it looked
-- $2 bigint: how many it looked at
-- Returns: no row, or the last of these and when it was inserted
SELECT x.id, x.created_at FROM rowrun.plan x WHERE x.id <= $1 ORDER BY x.id DESC OFFSET $2::bigint - 1 LIMIT 1
