-- record_delivery
-- Records a try of a delivery and gives its lease back. leased_until of one that is given up keeps when that was, for retention.
-- $1 bigint: delivery
-- $2 uuid: its lease
-- $3 text: DELIVERED, EXHAUSTED, or PENDING for another try
-- $4 integer: HTTP status; 0: there was no answer
-- $5 text: what went wrong; '': nothing
-- $6 float8: in how many seconds it is tried again
-- Returns: no row; it changes one unless the lease is lost or the delivery settled
UPDATE rowrun.webhook_delivery
SET status = $3, attempts = least(attempts, 2147483646) + 1, response_code = nullif($4::int, 0), last_error = nullif($5, ''),
    next_attempt_at = CASE WHEN $3 = 'PENDING' THEN clock_timestamp() + make_interval(secs => $6) END,
    delivered_at = CASE WHEN $3 = 'DELIVERED' THEN clock_timestamp() END,
    leased_until = CASE WHEN $3 = 'EXHAUSTED' THEN clock_timestamp() END, lease_token = NULL, unready_since = NULL
WHERE id = $1 AND status = 'PENDING' AND lease_token = $2
