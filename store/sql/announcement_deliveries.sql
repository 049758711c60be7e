-- announcement_deliveries
-- The deliveries of an announcement, one per webhook that wanted it.
-- $1 bigint: plan
-- $2 integer: round
-- Returns: one row for each, by id
SELECT d.id AS delivery_id, d.webhook_id, coalesce(w.name, '') AS webhook, d.message_id, d.status, d.attempts, d.next_attempt_at,
       d.response_code, d.last_error, d.delivered_at
FROM rowrun.webhook_delivery d LEFT JOIN rowrun.webhook w ON w.id = d.webhook_id
WHERE d.plan_id = $1 AND d.round = $2 ORDER BY d.id
