package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Announcement is what was announced of a plan's current round, and what became of it.
type Announcement struct {
	EventType  string    `json:"event_type"`
	Round      int       `json:"round"`
	RetryCount int       `json:"retry_count"`
	DecidedAt  time.Time `json:"decided_at"` // when the right to send was claimed
	// Deliveries are those of this announcement, one per webhook that wanted it.
	Deliveries []AnnouncedTo `json:"deliveries"`
}

// AnnouncedTo is how an announcement's delivery to one webhook stands.
type AnnouncedTo struct {
	DeliveryID    int64      `json:"delivery_id"`
	WebhookID     int64      `json:"webhook_id"`
	Webhook       string     `json:"webhook"`
	MessageID     string     `json:"message_id"`
	Status        string     `json:"status"`
	Attempts      int        `json:"attempts"`
	NextAttemptAt *time.Time `json:"next_attempt_at"`
	ResponseCode  *int       `json:"response_code"` // of HTTP
	LastError     *string    `json:"last_error"`
	DeliveredAt   *time.Time `json:"delivered_at"`
}

// Announcement reads what was announced of a plan's current round; nil: nothing yet.
func (s *Store) Announcement(ctx context.Context, planID int64) (*Announcement, error) {
	var a Announcement
	err := s.pool.QueryRow(ctx, statement("announcement"), planID).Scan(&a.EventType, &a.Round, &a.RetryCount, &a.DecidedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read announcement: %w", err)
	}
	rows, err := s.pool.Query(ctx, statement("announcement_deliveries"), planID, a.Round)
	if err != nil {
		return nil, fmt.Errorf("read announcement: %w", err)
	}
	if a.Deliveries, err = pgx.CollectRows(rows, pgx.RowToStructByName[AnnouncedTo]); err != nil {
		return nil, fmt.Errorf("read announcement: %w", err)
	}
	return &a, nil
}
