package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Named is a row that has a name that people gave it.
type Named struct {
	ID     int64
	PlanID *int64 // the plan that a task belongs to; nil: it has none
}

// TasksNamed finds the task without a plan of a name, or else the newest tasks of plans that have it, at most limit.
func (s *Store) TasksNamed(ctx context.Context, name string, limit int) ([]Named, error) {
	found, err := collect(ctx, s, "find task", statement("find_definition"), pgx.RowToStructByPos[Named], name)
	if err != nil || len(found) > 0 {
		return found, err
	}
	return collect(ctx, s, "find task", statement("find_tasks_of_plans"), pgx.RowToStructByPos[Named], name, limit)
}

// PlansNamed finds the newest plans of a name, at most limit: names of plans are free.
func (s *Store) PlansNamed(ctx context.Context, name string, limit int) ([]Named, error) {
	return collect(ctx, s, "find plan", statement("find_plans_named"), pgx.RowToStructByPos[Named], name, limit)
}

// WebhooksNamed finds the newest webhooks of a name, at most limit.
func (s *Store) WebhooksNamed(ctx context.Context, name string, limit int) ([]Named, error) {
	return collect(ctx, s, "find webhook", statement("find_webhooks_named"), pgx.RowToStructByPos[Named], name, limit)
}

// NewestRun is the id of the newest run of a task. ErrNotFound: it has none.
func (s *Store) NewestRun(ctx context.Context, taskID int64) (int64, error) {
	var id int64
	err := s.pool.QueryRow(ctx, statement("newest_run"), taskID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("run of task %d: %w", taskID, ErrNotFound)
	}
	if err != nil {
		return 0, fmt.Errorf("find newest run: %w", err)
	}
	return id, nil
}

// Words are what people type, as far as the newest tasks and the replicas know them.
type Words struct{ Types, Queues, Databases []string }

// knownTasks is of how many of the newest tasks words are known.
const knownTasks = 1000

// KnownWords reads them.
func (s *Store) KnownWords(ctx context.Context) (Words, error) {
	return collectOne(ctx, s, "read known words", statement("known_words"), pgx.RowToStructByPos[Words], knownTasks)
}
