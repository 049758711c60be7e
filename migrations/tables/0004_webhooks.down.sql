UPDATE rowrun.webhook SET format = 'standard' WHERE format NOT IN ('standard', 'slack');
COMMENT ON COLUMN rowrun.webhook.format IS 'standard (Standard Webhooks) or slack.';
ALTER TABLE rowrun.webhook_delivery DROP COLUMN content_type;
