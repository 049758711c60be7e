-- board_announcement
-- The announcement of a plan's current round.
-- $1 bigint: plan
-- Returns: at most one row: store.BoardAnnouncement
SELECT event_type, round, retry_count, delivered_at FROM rowrun.webhook_delivery_log WHERE plan_id = $1
