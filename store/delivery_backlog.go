package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// DeliveryReasons are what the PENDING deliveries of a webhook can wait for: that it is enabled again; that a replica comes
// to them; another try, after one that failed; that the replicas have what its url and secret_ref name.
func DeliveryReasons() []string { return []string{"disabled", "due", "refused", "unready"} }

// webhookBacklogs has a row for each webhook with a PENDING delivery. The oldest tells for all: it is tried first.
const webhookBacklogs = `
    SELECT w.id, w.name, o.created_at AS since, o.last_error,
           CASE WHEN NOT w.enabled THEN 'disabled' WHEN o.unready_since IS NOT NULL THEN 'unready'
                WHEN o.attempts > 0 THEN 'refused' ELSE 'due' END AS reason
    FROM rowrun.webhook w
    CROSS JOIN LATERAL (
        SELECT d.created_at, d.last_error, d.unready_since, d.attempts FROM rowrun.webhook_delivery d
        WHERE d.webhook_id = w.id AND d.status = 'PENDING' ORDER BY d.created_at LIMIT 1) o`

// DeliveryBacklog is what one webhook's deliveries wait for, or were given up for.
type DeliveryBacklog struct {
	WebhookID int64
	Name      string
	// Reason is one of DeliveryReasons; of what was given up exhausted (the tries are used up) or gone (the receiver
	// answered 410, and the webhook was disabled).
	Reason string
	// Error is what went wrong last, in words that name neither URL nor secret; "": nothing did.
	Error string
	// Deliveries counts them, up to 10,000; Since is when the oldest was decided.
	Deliveries int64
	Since      time.Time
	// Last is the newest of those given up, 0 where they wait.
	Last int64
}

// DeliveryBacklogs tells of up to 100 webhooks whose deliveries wait, the oldest first, and of those with deliveries that were
// given up among the last 10,000.
func (s *Store) DeliveryBacklogs(ctx context.Context) ([]DeliveryBacklog, error) {
	const q = `-- delivery_backlogs
(SELECT b.id, b.name, b.reason, coalesce(b.last_error, ''),
       (SELECT count(*) FROM (SELECT FROM rowrun.webhook_delivery d WHERE d.webhook_id = b.id AND d.status = 'PENDING' LIMIT 10000) d),
       b.since, 0::bigint
FROM (` + webhookBacklogs + ` ORDER BY 3, 1 LIMIT 100) b ORDER BY b.since, b.id)
UNION ALL
(SELECT w.id, w.name, CASE g.status WHEN 'DISABLED' THEN 'gone' ELSE 'exhausted' END,
       coalesce((SELECT d.last_error FROM rowrun.webhook_delivery d WHERE d.id = g.last), ''), g.n, g.since, g.last
FROM (
    SELECT x.webhook_id, x.status, count(*) AS n, min(x.created_at) AS since, max(x.id) AS last
    FROM (SELECT d.id, d.webhook_id, d.status, d.created_at FROM rowrun.webhook_delivery d
          WHERE d.status <> 'PENDING' ORDER BY d.created_at DESC LIMIT 10000) x
    WHERE x.status IN ('EXHAUSTED', 'DISABLED') GROUP BY x.webhook_id, x.status) g
JOIN rowrun.webhook w ON w.id = g.webhook_id
ORDER BY g.since, w.id LIMIT 100)`
	return collect(ctx, s, "read the backlog of webhooks", q, pgx.RowToStructByPos[DeliveryBacklog])
}
