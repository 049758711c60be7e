-- list_webhooks_veiled
-- list_webhooks for roles that may not see where messages go.
-- $1 text: project; '': all
-- Returns: rows by name store.Webhook, without url and secret_ref
SELECT w.id, w.project, w.name, NULL::text AS url, NULL::text AS secret_ref, w.events, w.filter, w.format, w.enabled,
    (SELECT count(*) FROM rowrun.webhook_delivery d WHERE d.webhook_id = w.id AND d.status = 'PENDING') AS pending
FROM rowrun.webhook w
WHERE $1 = '' OR w.project = $1
ORDER BY w.project, w.id
