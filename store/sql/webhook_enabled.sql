-- webhook_enabled
-- $1 bigint: webhook
-- Returns: whether it is there and switched on
SELECT EXISTS (SELECT FROM rowrun.webhook WHERE id = $1 AND enabled)
