-- find_delivery
-- A delivery for people: everything but the body.
-- $1 bigint: delivery
-- Returns: at most one row, by name store.ShownDelivery
SELECT d.id, d.webhook_id, d.plan_id, d.round, d.run_id, d.root_id, d.task_id, d.task_type, d.event_type, d.message_id, d.status, d.attempts,
    CASE WHEN d.status = 'PENDING' THEN d.next_attempt_at END AS next_attempt, d.response_code, d.last_error, d.created_at, d.delivered_at
FROM rowrun.webhook_delivery d
WHERE d.id = $1
