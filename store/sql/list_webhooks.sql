-- list_webhooks
-- $1 text: project; '': all
-- Returns: rows by name store.Webhook; 42501 for roles that may not see where messages go
SELECT w.id, w.project, w.name, w.url, w.secret_ref, w.events, w.filter, w.format, w.enabled,
    (SELECT count(*) FROM rowrun.webhook_delivery d WHERE d.webhook_id = w.id AND d.status = 'PENDING') AS pending
FROM rowrun.webhook w
WHERE $1 = '' OR w.project = $1
ORDER BY w.project, w.id
