package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrStale says that what was to be changed belongs to somebody else by now, or has ended.
var ErrStale = errors.New("it belongs to somebody else by now")

// Delivery is a message to one webhook that was handed to this replica for one try.
type Delivery struct {
	ID        int64
	WebhookID int64
	// PlanID, RunID and TaskID are 0 where the event is of none.
	PlanID, RunID, TaskID int64
	EventType             string
	// MessageID and Payload are the same at every try.
	MessageID string
	Payload   string
	// ContentType is what the payload is, for the header of that name.
	ContentType string
	// Attempts is how many tries were recorded before this one.
	Attempts int
	// URL and SecretRef are the webhook's, unresolved. SecretRef is "" where it has none.
	URL       string
	SecretRef string
	// Token is the lease: whoever holds it may record.
	Token string
}

// DeliveryWants bounds what one claim takes.
type DeliveryWants struct {
	// Most is how many in all, PerWebhook how many of one webhook; Busy, by webhook, how many of these are taken.
	Most, PerWebhook int
	Busy             map[int64]int
	// Slow are webhooks whose tries take long. Kept is how many of Most are for none of these, and for none that has a try
	// under way or is given one by this claim.
	Slow []int64
	Kept int
	// Lease is for how long nobody else takes them.
	Lease time.Duration
	// PublicURL is that of the dashboard, "": none is known. Bodies that are tried for the first time link to it.
	PublicURL string
}

// ClaimDeliveries hands out deliveries that are due, and says in how long the next one will be; 0: none is known.
func (s *Store) ClaimDeliveries(ctx context.Context, w DeliveryWants) (claimed []Delivery, next time.Duration, err error) {
	ids, counts := make([]int64, 0, len(w.Busy)), make([]int, 0, len(w.Busy))
	for id, n := range w.Busy {
		ids, counts = append(ids, id), append(counts, n)
	}
	rows, err := s.pool.Query(ctx, statement("claim_deliveries"), w.Most, w.PerWebhook, ids, counts, seconds(w.Lease), w.PublicURL, append([]int64{}, w.Slow...), w.Kept)
	if err != nil {
		return nil, 0, fmt.Errorf("claim deliveries: %w", err)
	}
	var due *float64
	var d Delivery
	_, err = pgx.ForEachRow(rows, []any{
		&due, &d.ID, &d.WebhookID, &d.PlanID, &d.EventType, &d.MessageID, &d.Payload, &d.Attempts,
		&d.URL, &d.SecretRef, &d.Token, &d.ContentType, &d.RunID, &d.TaskID,
	}, func() error {
		if d.MessageID != "" { // otherwise there is none
			claimed = append(claimed, d)
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("claim deliveries: %w", err)
	}
	if due != nil {
		next = max(fromSeconds(due), time.Microsecond)
	}
	if len(claimed) > 0 && (next == 0 || next > w.Lease) {
		next = w.Lease // as long as a sender that is gone keeps these
	}
	return claimed, next, nil
}

// Try is how one try to deliver went.
type Try struct {
	// Status is DELIVERED, EXHAUSTED, or PENDING for another try after RetryIn.
	Status  string
	RetryIn time.Duration
	// Code is the HTTP status that was answered, 0: there was no answer.
	Code int
	// Problem is what went wrong, in words that name neither URL nor secret; "": nothing.
	Problem string
}

// RecordTry records a try and gives the lease back. ErrStale: the lease had been taken over, or the delivery is settled.
func (s *Store) RecordTry(ctx context.Context, d Delivery, try Try) error {
	tag, err := s.pool.Exec(ctx, statement("record_delivery"), d.ID, d.Token, try.Status, try.Code, try.Problem, seconds(try.RetryIn))
	if err != nil {
		return fmt.Errorf("record delivery: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return ErrStale
	}
	return nil
}

// ReleaseDelivery gives a lease back without a try; reason says what this replica lacks for one, "": nothing. ErrStale as
// for RecordTry.
func (s *Store) ReleaseDelivery(ctx context.Context, d Delivery, reason string) error {
	tag, err := s.pool.Exec(ctx, statement("release_delivery"), d.ID, d.Token, reason)
	if err != nil {
		return fmt.Errorf("release delivery: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return ErrStale
	}
	return nil
}

// DisableWebhook records a try that was answered with 410: the webhook is switched off, and what it was still to get
// is DISABLED; how many deliveries. ErrStale where the lease is lost or the webhook's URL was changed since the claim:
// then nothing is written.
func (s *Store) DisableWebhook(ctx context.Context, d Delivery, try Try) (int64, error) {
	tag, err := s.pool.Exec(ctx, statement("disable_webhook"), d.ID, d.Token, d.URL, try.Code, try.Problem)
	if err != nil {
		return 0, fmt.Errorf("disable webhook: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return 0, ErrStale
	}
	return tag.RowsAffected(), nil
}
