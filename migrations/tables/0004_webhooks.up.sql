-- Webhooks in more formats: what a message says of its body, and where people look further.
ALTER TABLE rowrun.webhook_delivery ADD COLUMN content_type text NOT NULL DEFAULT 'application/json';
COMMENT ON COLUMN rowrun.webhook_delivery.content_type IS 'What the body is, for the header of that name.';
COMMENT ON COLUMN rowrun.webhook.format IS 'standard (Standard Webhooks), slack, teams, discord or cloudevents.';
