-- redeliver
-- Makes a settled delivery PENDING again, with all its tries before it, the same id and the same body.
-- $1 bigint: delivery
-- Returns: no row; it changes one unless the delivery is PENDING
UPDATE rowrun.webhook_delivery
SET status = 'PENDING', attempts = 0, next_attempt_at = clock_timestamp(), delivered_at = NULL, leased_until = NULL, lease_token = NULL
WHERE id = $1 AND status <> 'PENDING'
