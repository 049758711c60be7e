package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// TaskDefinition is a task without a plan as somebody wants it; nil is the column's default.
type TaskDefinition struct {
	Name            string          // required
	Type            string          // required
	Payload         json.RawMessage // required, a JSON object
	Queue           *string
	DatabaseID      *string
	Version         *string
	Sequential      *bool
	Priority        *int
	Timeout         *time.Duration // 0: none
	ProgressTimeout *time.Duration
	MaxAttempts     *int
	RetryDelay      *time.Duration
	OnStale         *string
	Labels          json.RawMessage
	// Aging is in how long the priority of its runs grows by one while they wait; 0: it doesn't, nil: it stays as it is.
	Aging *time.Duration
	// Recurs says when it recurs; what is nil in it stays as it is.
	Recurs Recurrence
	// New: it is refused where there is a task of that name, which somebody else may have made since it was looked for.
	New bool
}

var errNotNew = errors.New("a task of that name has just been made by somebody else: look whose it is, and try again")

// Recurrence is when a task recurs.
type Recurrence struct {
	Schedule, TimeZone, Misfire, Overlap *string
	Spread                               *time.Duration // by how much at most its runs are put off
}

// DefinitionError says which of several definitions was refused.
type DefinitionError struct {
	Index int
	err   error
}

func (e *DefinitionError) Error() string { return fmt.Sprintf("definition %d: %s", e.Index, e.err) }

// Unwrap is why.
func (e *DefinitionError) Unwrap() error { return e.err }

// DefineTasks makes tasks without a plan or brings them up to date, all or none; their ids.
func (s *Store) DefineTasks(ctx context.Context, tasks []TaskDefinition) ([]int64, error) {
	ids := make([]int64, len(tasks))
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		for i, t := range tasks {
			err := tx.QueryRow(ctx, statement("define_task"), t.Name, t.Type, t.Payload, t.Queue, t.DatabaseID, t.Version, t.Sequential, t.Priority,
				inSeconds(t.Timeout), inSeconds(t.ProgressTimeout), t.MaxAttempts, inSeconds(t.RetryDelay), t.OnStale, t.Labels).Scan(&ids[i])
			if err != nil {
				return &DefinitionError{i, err}
			}
			if t.New {
				var made bool
				if err := tx.QueryRow(ctx, statement("is_new_task"), ids[i]).Scan(&made); err != nil {
					return &DefinitionError{i, err}
				}
				if !made {
					return &DefinitionError{i, errNotNew}
				}
			}
			if t.Aging != nil {
				if _, err := tx.Exec(ctx, statement("define_aging"), ids[i], t.Aging.Seconds()); err != nil {
					return &DefinitionError{i, err}
				}
			}
			if t.Recurs == (Recurrence{}) {
				continue
			}
			r := t.Recurs
			if _, err := tx.Exec(ctx, statement("define_schedule"), ids[i], r.Schedule, r.TimeZone, r.Misfire, r.Overlap, inSeconds(r.Spread)); err != nil {
				return &DefinitionError{i, err}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("define tasks: %w", err)
	}
	return ids, nil
}

func inSeconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	s := d.Seconds()
	return &s
}

// NewRun is a run that is to be inserted.
type NewRun struct {
	TaskID   int64           // required
	Input    json.RawMessage // required, a JSON object
	At       *time.Time      // not before this moment; nil: Delay from now, by the database's clock
	Delay    time.Duration
	Priority *int    // nil: the task's
	Key      *string // idempotency key; nil: none
	After    []int64 // runs whose jobs must be DONE first
}

// CreateRun inserts a run; its id, or that of the run that has the key.
func (s *Store) CreateRun(ctx context.Context, r NewRun) (int64, error) {
	var id int64
	err := s.pool.QueryRow(ctx, statement("create_run"), r.TaskID, r.Input, r.At, r.Delay.Seconds(), r.Priority, r.Key, r.After).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("create run: %w", err)
	}
	return id, nil
}
