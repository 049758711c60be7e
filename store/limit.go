package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Limit is a row of concurrency_limit, with how it stands.
type Limit struct {
	Name       string          `json:"name"`
	Type       *string         `json:"type"`
	Queue      *string         `json:"queue"`
	KeyPath    []string        `json:"key_path"`
	MaxRunning *int            `json:"max_running"`
	Rate       *int            `json:"rate"`
	PerMS      *float64        `json:"per_ms"`
	Burst      *int            `json:"burst"`
	Share      string          `json:"share"`
	Weights    json.RawMessage `json:"weights"`
	NotBefore  *time.Time      `json:"not_before"`
	CreatedAt  time.Time       `json:"created_at"`
	// Taken is how many places of it are taken, over all keys; Waiting how many runs wait for it, counted up to 1,000.
	Taken   int64 `json:"taken"`
	Waiting int64 `json:"waiting"`
}

// LimitKey is how a limit stands for one key.
type LimitKey struct {
	Key     *string `json:"key"` // null: the limit has none
	Taken   int64   `json:"taken"`
	Waiting int64   `json:"waiting"`
	// Tokens are those that are left, of a limit with a rate.
	Tokens   *float64   `json:"tokens"`
	OpensAt  *time.Time `json:"opens_at"` // none of its runs starts before; null: nothing says so
	FirstRun *int64     `json:"first_run_id"`
}

// LimitChange is what a limit is to be. What is nil stays as it is, or is none in a new one; what Clear names is none from now on.
type LimitChange struct {
	Type       *string
	Queue      *string
	KeyPath    []string
	MaxRunning *int
	Rate       *int
	Per        *time.Duration
	Burst      *int
	NotBefore  *time.Time
	Share      *string            // NONE or FAIR
	Weights    map[string]float64 // of keys; those of others stay
	Clear      []string           // columns
}

// ListLimits reads the limits, by name.
func (s *Store) ListLimits(ctx context.Context) ([]Limit, error) {
	return collect(ctx, s, "list limits", statement("list_limits"), pgx.RowToStructByPos[Limit])
}

// FindLimit reads a limit. ErrNotFound.
func (s *Store) FindLimit(ctx context.Context, name string) (Limit, error) {
	all, err := s.ListLimits(ctx)
	for _, l := range all {
		if l.Name == name {
			return l, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("limit %s: %w", name, ErrNotFound)
	}
	return Limit{}, err
}

// LimitKeys are the keys of a limit that runs hold places of or wait for, those with most waiting first, up to 100.
func (s *Store) LimitKeys(ctx context.Context, name string) ([]LimitKey, error) {
	return collect(ctx, s, "list keys of a limit", statement("limit_keys"), pgx.RowToStructByPos[LimitKey], name)
}

// SetLimit makes a limit, or changes it.
func (s *Store) SetLimit(ctx context.Context, name string, c LimitChange) error {
	var per *float64
	if c.Per != nil {
		v := seconds(*c.Per)
		per = &v
	}
	var weights []byte
	if c.Weights != nil {
		var err error
		if weights, err = json.Marshal(c.Weights); err != nil {
			return fmt.Errorf("set limit: %w", err)
		}
	}
	var text *string
	err := s.pool.QueryRow(ctx, statement("set_limit"), name, c.Type, c.Queue, c.KeyPath, c.MaxRunning, c.Rate, per, c.Burst, c.NotBefore, list(c.Clear), c.Share, weights).Scan(&text)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("set limit: %w", err)
	}
	return nil
}

// DeleteLimit removes a limit; what it held back goes on. ErrNotFound.
func (s *Store) DeleteLimit(ctx context.Context, name string) error {
	var there bool
	if err := s.pool.QueryRow(ctx, statement("delete_limit"), name).Scan(&there); err != nil {
		return fmt.Errorf("delete limit: %w", err)
	}
	if !there {
		return fmt.Errorf("limit %s: %w", name, ErrNotFound)
	}
	return nil
}
