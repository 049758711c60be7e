-- delivery_backlogs
-- What the deliveries of webhooks wait for, and which were given up among the last 10,000.
-- The oldest PENDING delivery of a webhook tells for all: it is tried first.
-- Returns: webhook, its name, reason, last error ('': none), deliveries (up to 10,000), since when, the newest of those
--   given up (0: they wait)
(SELECT b.id, b.name, b.reason, coalesce(b.last_error, ''),
       (SELECT count(*) FROM (SELECT FROM rowrun.webhook_delivery d WHERE d.webhook_id = b.id AND d.status = 'PENDING' LIMIT 10000) d),
       b.since, 0::bigint
 FROM (
    SELECT w.id, w.name, o.created_at AS since, o.last_error,
           CASE WHEN NOT w.enabled THEN 'disabled' WHEN o.unready_since IS NOT NULL THEN 'unready'
                WHEN o.attempts > 0 THEN 'refused' ELSE 'due' END AS reason
    FROM rowrun.webhook w
    CROSS JOIN LATERAL (
        SELECT d.created_at, d.last_error, d.unready_since, d.attempts FROM rowrun.webhook_delivery d
        WHERE d.webhook_id = w.id AND d.status = 'PENDING' ORDER BY d.created_at LIMIT 1) o
    ORDER BY 3, 1 LIMIT 100) b
 ORDER BY b.since, b.id)
UNION ALL
(SELECT w.id, w.name, CASE g.status WHEN 'DISABLED' THEN 'gone' ELSE 'exhausted' END,
       coalesce((SELECT d.last_error FROM rowrun.webhook_delivery d WHERE d.id = g.last), ''), g.n, g.since, g.last
 FROM (
    SELECT x.webhook_id, x.status, count(*) AS n, min(x.created_at) AS since, max(x.id) AS last
    FROM (SELECT d.id, d.webhook_id, d.status, d.created_at FROM rowrun.webhook_delivery d
          WHERE d.status <> 'PENDING' ORDER BY d.created_at DESC LIMIT 10000) x
    WHERE x.status IN ('EXHAUSTED', 'DISABLED') GROUP BY x.webhook_id, x.status) g
 JOIN rowrun.webhook w ON w.id = g.webhook_id
 ORDER BY g.since, w.id LIMIT 100)
