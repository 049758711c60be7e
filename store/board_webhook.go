package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// BoardWebhook is a webhook.
type BoardWebhook struct {
	ID            int64    `json:"id,string"`
	Project       string   `json:"project"`
	Name          string   `json:"name"`
	URL           *string  `json:"url"`    // nil: this role may not see it
	Signed        *bool    `json:"signed"` // the same
	Events        []string `json:"events"`
	Format        string   `json:"format"`
	Enabled       bool     `json:"enabled"`
	CreatedAt     Instant  `json:"created_at"`
	Pending       Bounded  `json:"pending"`
	OldestPending *Instant `json:"oldest_pending"`
}

// BoardWebhooks reads webhooks, the newest first: those of a project ("": of all), or one (0: all).
func (s *Store) BoardWebhooks(ctx context.Context, project string, one int64, p Page) ([]BoardWebhook, error) {
	_, highest := p.bounds()
	read := func(q string) ([]BoardWebhook, error) {
		return collectPlanned(ctx, s, "list webhooks", q, func(row pgx.CollectableRow) (w BoardWebhook, err error) {
			var pending int64
			err = row.Scan(&w.ID, &w.Project, &w.Name, &w.URL, &w.Signed, &w.Events, &w.Format, &w.Enabled, &w.CreatedAt, &pending, &w.OldestPending)
			w.Pending = BoundedBy(pending, 1000)
			return w, err
		}, project, one, highest, p.Limit)
	}
	all, err := read(statement("board_webhooks"))
	if SQLState(err) == "42501" {
		return read(statement("board_webhooks_veiled"))
	}
	return all, err
}

// FindBoardWebhook reads one. ErrNotFound: there is none of that id.
func (s *Store) FindBoardWebhook(ctx context.Context, id int64) (BoardWebhook, error) {
	found, err := s.BoardWebhooks(ctx, "", id, Page{Limit: 1})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("webhook %d: %w", id, ErrNotFound)
	}
	if err != nil {
		return BoardWebhook{}, err
	}
	return found[0], nil
}

// BoardDelivery is a delivery in a list: of a plan's round, of a run or a task outside plans, or of a type of task.
type BoardDelivery struct {
	ID           int64    `json:"id,string"`
	WebhookID    int64    `json:"webhook_id,string"`
	PlanID       *int64   `json:"plan_id,string"`
	Plan         *string  `json:"plan"`
	Round        *int     `json:"round"`
	RunID        *int64   `json:"run_id,string"`
	TaskID       *int64   `json:"task_id,string"`
	Task         *string  `json:"task"`
	Type         *string  `json:"type"`
	EventType    string   `json:"event_type"`
	MessageID    string   `json:"message_id"`
	Status       string   `json:"status"`
	Attempts     int      `json:"attempts"`
	NextAttempt  *Instant `json:"next_attempt_at"`
	ResponseCode *int     `json:"response_code"`
	LastError    *string  `json:"last_error"`
	CreatedAt    Instant  `json:"created_at"`
	DeliveredAt  *Instant `json:"delivered_at"`
}

// DeliverySearch is a filter of deliveries, as rowrun.find_deliveries takes it; what is left empty holds for all.
type DeliverySearch struct {
	WebhookID int64    `json:"webhook_id,omitempty"`
	PlanID    int64    `json:"plan_id,omitempty"`
	Statuses  []string `json:"statuses,omitempty"`
}

// SearchDeliveries reads a page of deliveries.
func (s *Store) SearchDeliveries(ctx context.Context, f DeliverySearch, p Page) (Found[BoardDelivery], error) {
	return search(ctx, s, "search deliveries", statement("board_find_deliveries"), statement("board_deliveries"), pgx.RowToStructByPos[BoardDelivery], f, p, taskLook,
		func(d BoardDelivery) int64 { return d.ID })
}

// BoardDeliveryDetails is a delivery with its body.
type BoardDeliveryDetails struct {
	BoardDelivery
	Body        *string `json:"body"`
	ContentType string  `json:"content_type"`
}

// FindBoardDelivery reads one. ErrNotFound: there is none of that id.
func (s *Store) FindBoardDelivery(ctx context.Context, id int64) (BoardDeliveryDetails, error) {
	found, err := collect(ctx, s, "read delivery", statement("board_deliveries"), pgx.RowToStructByPos[BoardDelivery], []int64{id})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("delivery %d: %w", id, ErrNotFound)
	}
	if err != nil {
		return BoardDeliveryDetails{}, err
	}
	d := BoardDeliveryDetails{BoardDelivery: found[0]}
	err = s.pool.QueryRow(ctx, statement("board_delivery_body"), id).Scan(&d.Body, &d.ContentType)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return BoardDeliveryDetails{}, fmt.Errorf("delivery %d: %w", id, err)
	}
	return d, nil
}
