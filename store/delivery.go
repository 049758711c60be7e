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
	PlanID    int64
	EventType string
	// MessageID and Payload are the same at every try.
	MessageID string
	Payload   string
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
	// Lease is for how long nobody else takes them.
	Lease time.Duration
}

// Each webhook gives its first few: however much one endpoint has to catch up on, the others' are found at once. The
// lease is read before the row is locked and again with it.
const claimDeliveries = `-- claim_deliveries
WITH now AS MATERIALIZED (
    SELECT clock_timestamp() AS t
), due AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM rowrun.webhook_delivery d WHERE d.status = 'PENDING' AND d.next_attempt_at <= now.t)
        AND NOT (SELECT rowrun.deployment_elsewhere()) AS found FROM now -- a copy's messages are its origin's to send
), seen AS MATERIALIZED (
    SELECT d.id
    FROM rowrun.webhook w
    CROSS JOIN now
    LEFT JOIN unnest($3::bigint[], $4::int[]) busy(id, n) ON busy.id = w.id
    CROSS JOIN LATERAL (
        SELECT d.id, d.next_attempt_at FROM rowrun.webhook_delivery d
        WHERE d.webhook_id = w.id AND d.status = 'PENDING' AND d.next_attempt_at <= now.t
          AND (d.leased_until IS NULL OR d.leased_until <= now.t)
        ORDER BY d.next_attempt_at, d.id LIMIT greatest($2 - coalesce(busy.n, 0), 0)
    ) d
    WHERE w.enabled AND (SELECT found FROM due)
    ORDER BY d.next_attempt_at, d.id LIMIT $1
), picked AS MATERIALIZED (
    SELECT d.id FROM rowrun.webhook_delivery d, now
    WHERE d.id = ANY (ARRAY(SELECT id FROM seen)) AND coalesce(d.status, '') = 'PENDING' AND d.next_attempt_at <= now.t
      AND (d.leased_until IS NULL OR d.leased_until <= now.t)
    FOR NO KEY UPDATE OF d SKIP LOCKED
), taken AS (
    UPDATE rowrun.webhook_delivery d
    SET leased_until = now.t + make_interval(secs => $5), lease_token = gen_random_uuid()
    FROM rowrun.webhook w, now
    WHERE d.id = ANY (ARRAY(SELECT id FROM picked)) AND w.id = d.webhook_id
    RETURNING d.id, d.webhook_id, d.plan_id, d.event_type, d.message_id, d.payload, d.attempts,
        w.url, coalesce(w.secret_ref, '') AS secret_ref, d.lease_token::text AS token, d.next_attempt_at
)
SELECT extract(epoch FROM least(
           (SELECT d.next_attempt_at FROM rowrun.webhook_delivery d
            WHERE d.status = 'PENDING' AND d.next_attempt_at > now.t ORDER BY d.next_attempt_at LIMIT 1),
           -- One whose sender is gone is free at the end of its lease.
           (SELECT d.leased_until FROM rowrun.webhook_delivery d
            WHERE d.status = 'PENDING' AND d.leased_until > now.t ORDER BY d.leased_until LIMIT 1)) - now.t)::float8,
       coalesce(k.id, 0), coalesce(k.webhook_id, 0), coalesce(k.plan_id, 0), coalesce(k.event_type, ''), coalesce(k.message_id, ''),
       coalesce(k.payload, ''), coalesce(k.attempts, 0), coalesce(k.url, ''), coalesce(k.secret_ref, ''), coalesce(k.token, '')
FROM now LEFT JOIN taken k ON true
ORDER BY k.next_attempt_at, k.id`

// ClaimDeliveries hands out deliveries that are due, and says in how long the next one will be; 0: none is known.
func (s *Store) ClaimDeliveries(ctx context.Context, w DeliveryWants) (claimed []Delivery, next time.Duration, err error) {
	ids, counts := make([]int64, 0, len(w.Busy)), make([]int, 0, len(w.Busy))
	for id, n := range w.Busy {
		ids, counts = append(ids, id), append(counts, n)
	}
	rows, err := s.pool.Query(ctx, claimDeliveries, w.Most, w.PerWebhook, ids, counts, seconds(w.Lease))
	if err != nil {
		return nil, 0, fmt.Errorf("claim deliveries: %w", err)
	}
	var due *float64
	var d Delivery
	_, err = pgx.ForEachRow(rows, []any{
		&due, &d.ID, &d.WebhookID, &d.PlanID, &d.EventType, &d.MessageID, &d.Payload, &d.Attempts,
		&d.URL, &d.SecretRef, &d.Token,
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
	const q = `-- record_delivery
UPDATE rowrun.webhook_delivery
SET status = $3, attempts = least(attempts, 2147483646) + 1, response_code = nullif($4::int, 0), last_error = nullif($5, ''),
    next_attempt_at = CASE WHEN $3 = 'PENDING' THEN clock_timestamp() + make_interval(secs => $6) END,
    delivered_at = CASE WHEN $3 = 'DELIVERED' THEN clock_timestamp() END,
    leased_until = NULL, lease_token = NULL, unready_since = NULL
WHERE id = $1 AND status = 'PENDING' AND lease_token = $2`
	tag, err := s.pool.Exec(ctx, q, d.ID, d.Token, try.Status, try.Code, try.Problem, seconds(try.RetryIn))
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
	const q = `-- release_delivery
UPDATE rowrun.webhook_delivery
SET leased_until = NULL, lease_token = NULL, last_error = coalesce(nullif($3, ''), last_error),
    unready_since = CASE WHEN $3 <> '' THEN coalesce(unready_since, clock_timestamp()) ELSE unready_since END
WHERE id = $1 AND status = 'PENDING' AND lease_token = $2`
	tag, err := s.pool.Exec(ctx, q, d.ID, d.Token, reason)
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
	const q = `-- disable_webhook
WITH off AS (
    UPDATE rowrun.webhook w SET enabled = false
    FROM rowrun.webhook_delivery d
    WHERE d.id = $1 AND d.status = 'PENDING' AND d.lease_token = $2 AND w.id = d.webhook_id AND w.url = $3
    RETURNING w.id
)
UPDATE rowrun.webhook_delivery d
SET status = 'DISABLED', next_attempt_at = NULL, leased_until = NULL, lease_token = NULL, unready_since = NULL,
    attempts = least(d.attempts, 2147483646) + CASE WHEN d.id = $1 THEN 1 ELSE 0 END,
    response_code = CASE WHEN d.id = $1 THEN $4::int ELSE d.response_code END,
    last_error = $5
FROM off WHERE d.webhook_id = off.id AND d.status = 'PENDING'`
	tag, err := s.pool.Exec(ctx, q, d.ID, d.Token, d.URL, try.Code, try.Problem)
	if err != nil {
		return 0, fmt.Errorf("disable webhook: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return 0, ErrStale
	}
	return tag.RowsAffected(), nil
}
