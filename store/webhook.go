package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Webhook is a row of webhook.
type Webhook struct {
	ID      int64
	Project string
	Name    string
	// URL and SecretRef are as they stand in the row; nil where the role may not read them, SecretRef also where there
	// is none.
	URL       *string
	SecretRef *string
	Events    []string
	Filter    json.RawMessage // a JSON object; nil: none
	Format    string
	Enabled   bool
	// Pending counts the deliveries that are still to be made.
	Pending int64
}

// ListWebhooks reads the webhooks of a project, "": of all.
func (s *Store) ListWebhooks(ctx context.Context, project string) ([]Webhook, error) {
	read := func(q string) ([]Webhook, error) {
		rows, err := s.pool.Query(ctx, q, project)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowToStructByName[Webhook])
	}
	all, err := read(statement("list_webhooks"))
	if SQLState(err) == "42501" { // viewers may not see where messages go
		all, err = read(statement("list_webhooks_veiled"))
	}
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return all, nil
}

// FindWebhook reads one. ErrNotFound.
func (s *Store) FindWebhook(ctx context.Context, id int64) (Webhook, error) {
	return find(ctx, s, "webhook", statement("find_webhook"), pgx.RowToStructByName[Webhook], id)
}

// WebhookEnabled says whether a webhook is there and switched on.
func (s *Store) WebhookEnabled(ctx context.Context, id int64) (bool, error) {
	var on bool
	if err := s.pool.QueryRow(ctx, statement("webhook_enabled"), id).Scan(&on); err != nil {
		return false, fmt.Errorf("read webhook: %w", err)
	}
	return on, nil
}

// ShownDelivery is a row of webhook_delivery for people: everything but the body.
type ShownDelivery struct {
	ID           int64      `json:"id"`
	WebhookID    int64      `json:"webhook_id"`
	PlanID       *int64     `json:"plan_id"` // nil: it is of no plan
	Round        *int64     `json:"round"`
	RunID        *int64     `json:"run_id"`
	RootID       *int64     `json:"root_id"`
	TaskID       *int64     `json:"task_id"`
	TaskType     *string    `json:"task_type"`
	EventType    string     `json:"event_type"`
	MessageID    string     `json:"message_id"`
	Status       string     `json:"status"`
	Attempts     int        `json:"attempts"`
	NextAttempt  *time.Time `json:"next_attempt_at"` // of a PENDING one
	ResponseCode *int       `json:"response_code"`
	LastError    *string    `json:"last_error"`
	CreatedAt    time.Time  `json:"created_at"`
	DeliveredAt  *time.Time `json:"delivered_at"`
}

// DeliveryFilter narrows ListDeliveries down; what is zero isn't asked for. All of it holds.
type DeliveryFilter struct {
	WebhookID *int64
	PlanID    *int64
	RunID     *int64 // of whose chain they are
	Statuses  []string
	Limit     int // required
}

// ListDeliveries reads deliveries, the newest first.
func (s *Store) ListDeliveries(ctx context.Context, f DeliveryFilter) ([]ShownDelivery, error) {
	return collect(ctx, s, "list deliveries", statement("list_deliveries"), pgx.RowToStructByName[ShownDelivery], f.WebhookID, f.PlanID, list(f.Statuses), f.Limit, f.RunID)
}

// FindDelivery reads one. ErrNotFound.
func (s *Store) FindDelivery(ctx context.Context, id int64) (ShownDelivery, error) {
	return find(ctx, s, "delivery", statement("find_delivery"), pgx.RowToStructByName[ShownDelivery], id)
}

// Redeliver makes a settled delivery PENDING again, with all its tries before it, the same id and the same body.
// ErrStale: it is PENDING already.
func (s *Store) Redeliver(ctx context.Context, id int64) error {
	tag, err := s.pool.Exec(ctx, statement("redeliver"), id)
	if err != nil {
		return fmt.Errorf("redeliver: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return ErrStale
	}
	return nil
}
