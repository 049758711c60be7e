package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// RunPlan makes a run for each task of a plan that has none yet; the runs made.
func (s *Store) RunPlan(ctx context.Context, id int64) ([]int64, error) {
	return s.madeRuns(ctx, statement("run_plan"), id)
}

// RetryPlan makes a run for each task of a plan whose newest one FAILED or was CANCELED; the runs made.
func (s *Store) RetryPlan(ctx context.Context, id int64) ([]int64, error) {
	return s.madeRuns(ctx, statement("retry_plan"), id)
}

func (s *Store) madeRuns(ctx context.Context, q string, id int64) ([]int64, error) {
	return collect(ctx, s, "make runs of plan", q, pgx.RowTo[int64], id)
}

// CancelPlan cancels the unfinished runs of a plan, and asks it of those that are RUNNING; how many. An empty reason
// is none.
func (s *Store) CancelPlan(ctx context.Context, id int64, reason string) (int64, error) {
	var n int64
	if err := s.pool.QueryRow(ctx, statement("cancel_plan"), id, reason).Scan(&n); err != nil {
		return 0, fmt.Errorf("cancel plan: %w", err)
	}
	return n, nil
}

// PausePlan pauses a plan, or lets it go on. ErrNotFound: there is none of that id.
func (s *Store) PausePlan(ctx context.Context, id int64, paused bool) error {
	return s.changeOne(ctx, statement("pause_plan"), id, paused)
}

// DeletePlan removes a plan with its tasks and runs. The server refuses it (RR006) while a run of it is AVAILABLE or
// RUNNING. ErrNotFound: there is none of that id.
func (s *Store) DeletePlan(ctx context.Context, id int64) error {
	_, err := s.pool.Exec(ctx, statement("delete_plan"), id)
	if SQLState(err) == "P0002" {
		return fmt.Errorf("delete plan %d: %w", id, ErrNotFound)
	} else if err != nil {
		return fmt.Errorf("delete plan: %w", err)
	}
	return nil
}

// changeOne changes the row that its first argument names.
func (s *Store) changeOne(ctx context.Context, q string, args ...any) error {
	tag, err := s.pool.Exec(ctx, q, args...)
	if err != nil {
		return fmt.Errorf("change row %v: %w", args[0], err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("change row %v: %w", args[0], ErrNotFound)
	}
	return nil
}
