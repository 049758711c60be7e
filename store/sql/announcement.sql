-- announcement
-- What was announced of a plan's current round.
-- $1 bigint: plan
-- Returns: no row where nothing was; otherwise event, round, retry count, the moment of the decision
SELECT event_type, round, retry_count, delivered_at FROM rowrun.webhook_delivery_log WHERE plan_id = $1
