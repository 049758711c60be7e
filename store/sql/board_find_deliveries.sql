-- board_find_deliveries
-- The ids of a page of deliveries.
-- $1 text: filter, as rowrun.find_deliveries takes it
-- $2 boolean: true: the newest first
-- $3 bigint: only above this id
-- $4 bigint: only up to this id
-- $5 integer: how many at most
-- $6 integer: how many to look at
-- Returns: ids in order, how far it looked, whether that was all, when the delivery there was made
SELECT f.ids, f.reached, f.over, (SELECT d.created_at FROM rowrun.webhook_delivery d WHERE d.id = f.reached)
FROM rowrun.find_deliveries($1::text::jsonb, $2, $3, $4, $5, $6) f
