-- list_deliveries
-- Deliveries for people, the newest first.
-- $1 bigint: webhook; NULL: any
-- $2 bigint: plan; NULL: any
-- $3 text[]: statuses; '{}': any
-- $4 bigint: how many at most
-- $5 bigint: run, of whose chain they are; NULL: any
-- Returns: rows by name store.ShownDelivery
SELECT d.id, d.webhook_id, d.plan_id, d.round, d.run_id, d.root_id, d.task_id, d.task_type, d.event_type, d.message_id, d.status, d.attempts,
    CASE WHEN d.status = 'PENDING' THEN d.next_attempt_at END AS next_attempt, d.response_code, d.last_error, d.created_at, d.delivered_at
FROM rowrun.webhook_delivery d
WHERE ($1::bigint IS NULL OR d.webhook_id = $1) AND ($2::bigint IS NULL OR d.plan_id = $2)
  AND (cardinality($3::text[]) = 0 OR d.status = ANY ($3))
  AND ($5::bigint IS NULL OR d.root_id = coalesce((SELECT r.root_id FROM rowrun.task_run r WHERE r.id = $5), $5))
ORDER BY d.id DESC LIMIT $4
