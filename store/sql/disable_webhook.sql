-- disable_webhook
-- Records a try that was answered with 410: the webhook is switched off, and what it was still to get is DISABLED.
-- leased_until keeps when that was, for retention.
-- $1 bigint: the delivery that was tried
-- $2 uuid: its lease
-- $3 text: the URL that was tried: nothing is written where the webhook has another by now
-- $4 integer: HTTP status
-- $5 text: what went wrong
-- Returns: no row; it changes as many as are DISABLED
WITH off AS (
    UPDATE rowrun.webhook w SET enabled = false
    FROM rowrun.webhook_delivery d
    WHERE d.id = $1 AND d.status = 'PENDING' AND d.lease_token = $2 AND w.id = d.webhook_id AND w.url = $3
    RETURNING w.id
)
UPDATE rowrun.webhook_delivery d
SET status = 'DISABLED', next_attempt_at = NULL, leased_until = clock_timestamp(), lease_token = NULL, unready_since = NULL,
    attempts = least(d.attempts, 2147483646) + CASE WHEN d.id = $1 THEN 1 ELSE 0 END,
    response_code = CASE WHEN d.id = $1 THEN $4::int ELSE d.response_code END,
    last_error = $5
FROM off WHERE d.webhook_id = off.id AND d.status = 'PENDING'
