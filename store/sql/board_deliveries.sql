-- board_deliveries
-- Deliveries of a page.
-- $1 bigint[]: deliveries
-- Returns: store.BoardDelivery, in any order
SELECT d.id, d.webhook_id, d.plan_id, p.name, d.round, d.run_id, d.task_id, nullif(k.name, ''), d.task_type, d.event_type, d.message_id, d.status, d.attempts,
    CASE WHEN d.status = 'PENDING' THEN d.next_attempt_at END, d.response_code, left(d.last_error, 1000), d.created_at, d.delivered_at
FROM rowrun.webhook_delivery d LEFT JOIN rowrun.plan p ON p.id = d.plan_id LEFT JOIN rowrun.task k ON k.id = d.task_id
WHERE d.id = ANY ($1)
