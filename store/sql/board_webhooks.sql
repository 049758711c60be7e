-- board_webhooks
-- Webhooks, the newest first; 42501 for roles that may not see where messages go. It is planned for its parameters.
-- $1 text: project; '': all
-- $2 bigint: only this one; 0: all
-- $3 bigint: up to this id
-- $4 bigint: how many at most
-- Returns: store.BoardWebhook
SELECT w.id, w.project, w.name, w.url, w.secret_ref IS NOT NULL, w.events, w.format, w.enabled, w.created_at,
    (SELECT count(*) FROM (SELECT FROM rowrun.webhook_delivery d WHERE d.webhook_id = w.id AND d.status = 'PENDING' LIMIT 1000) x),
    (SELECT d.created_at FROM rowrun.webhook_delivery d WHERE d.webhook_id = w.id AND d.status = 'PENDING' ORDER BY d.created_at LIMIT 1)
FROM rowrun.webhook w
WHERE ($1 = '' OR w.project = $1) AND ($2::bigint = 0 OR w.id = $2) AND w.id <= $3
ORDER BY w.id DESC LIMIT $4
