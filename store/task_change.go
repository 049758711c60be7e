package store

import (
	"context"
	"fmt"
)

// SkipTask makes a task count as done; its PENDING run is canceled. The server refuses it (RR004) while a run of it is
// AVAILABLE or RUNNING. An empty reason is none.
func (s *Store) SkipTask(ctx context.Context, id int64, reason string) error {
	const q = `-- skip_task
SELECT rowrun.skip_task($1, nullif($2, ''))`
	if _, err := s.pool.Exec(ctx, q, id, reason); err != nil {
		return fmt.Errorf("skip task: %w", err)
	}
	return nil
}

// UnskipTask takes that back.
func (s *Store) UnskipTask(ctx context.Context, id int64) error {
	const q = `-- unskip_task
SELECT rowrun.unskip_task($1)`
	if _, err := s.pool.Exec(ctx, q, id); err != nil {
		return fmt.Errorf("unskip task: %w", err)
	}
	return nil
}

// PauseTask pauses a task, or lets it go on. ErrNotFound: there is none of that id.
func (s *Store) PauseTask(ctx context.Context, id int64, paused bool) error {
	const q = `-- pause_task
UPDATE rowrun.task SET paused = $2 WHERE id = $1`
	return s.changeOne(ctx, q, id, paused)
}
