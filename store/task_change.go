package store

import (
	"context"
	"fmt"
)

// SkipTask makes a task count as done; its PENDING run is canceled. The server refuses it (RR004) while a run of it is
// AVAILABLE or RUNNING. An empty reason is none.
func (s *Store) SkipTask(ctx context.Context, id int64, reason string) error {
	if _, err := s.pool.Exec(ctx, statement("skip_task"), id, reason); err != nil {
		return fmt.Errorf("skip task: %w", err)
	}
	return nil
}

// UnskipTask takes that back.
func (s *Store) UnskipTask(ctx context.Context, id int64) error {
	if _, err := s.pool.Exec(ctx, statement("unskip_task"), id); err != nil {
		return fmt.Errorf("unskip task: %w", err)
	}
	return nil
}

// PauseTask pauses a task, or lets it go on. ErrNotFound: there is none of that id.
func (s *Store) PauseTask(ctx context.Context, id int64, paused bool) error {
	return s.changeOne(ctx, statement("pause_task"), id, paused)
}
