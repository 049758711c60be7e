-- find_webhook
-- $1 bigint: webhook
-- Returns: at most one row, by name store.Webhook
SELECT w.id, w.project, w.name, w.url, w.secret_ref, w.events, w.filter, w.format, w.enabled,
    (SELECT count(*) FROM rowrun.webhook_delivery d WHERE d.webhook_id = w.id AND d.status = 'PENDING') AS pending
FROM rowrun.webhook w
WHERE w.id = $1
