package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// deliveryReasons are what the PENDING deliveries of a webhook can wait for: that it is enabled again; that a replica comes
// to them; another try, after one that failed; that the replicas have what its url and secret_ref name.
func deliveryReasons() []string { return []string{"disabled", "due", "refused", "unready"} }

// DeliveryBacklog is what one webhook's deliveries wait for, or were given up for.
type DeliveryBacklog struct {
	WebhookID int64
	Name      string
	// Reason is one of deliveryReasons; of what was given up exhausted (the tries are used up) or gone (the receiver
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
	return collect(ctx, s, "read the backlog of webhooks", statement("delivery_backlogs"), pgx.RowToStructByPos[DeliveryBacklog])
}

// UnmetFilter is a task that the filter of a webhook names and that isn't there.
type UnmetFilter struct {
	WebhookID int64
	Name      string // of the webhook
	Task      string // name or id
}

// UnmetFilters are up to 100 of them, of webhooks that are enabled.
func (s *Store) UnmetFilters(ctx context.Context) ([]UnmetFilter, error) {
	return collect(ctx, s, "read the filters of webhooks", statement("doctor_filters"), pgx.RowToStructByPos[UnmetFilter])
}
