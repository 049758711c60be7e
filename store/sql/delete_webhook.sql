-- delete_webhook
-- Removes a webhook with what is addressed to it. P0002 where there is none.
-- $1 bigint: webhook
-- Returns: nothing of use
SELECT rowrun.delete_webhook($1)
