-- board_delivery_body
-- What is sent.
-- $1 bigint: delivery
-- Returns: at most one row: its body, what that is
SELECT payload, content_type FROM rowrun.webhook_delivery WHERE id = $1
