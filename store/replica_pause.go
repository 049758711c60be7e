package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ErrNoReplica says that no live replica has the id or name that was asked for.
var ErrNoReplica = errors.New("there is no live replica of that id or name")

// PauseReplica has the live replicas of an id or name claim nothing, or claim again; their ids. ErrNoReplica: there is
// none.
func (s *Store) PauseReplica(ctx context.Context, replica string, pause bool) ([]string, error) {
	const (
		pauses = `-- pause_replica
SELECT rowrun.pause_replica($1)`
		resumes = `-- resume_replica
SELECT rowrun.resume_replica($1)`
	)
	q, what := resumes, "resume replica"
	if pause {
		q, what = pauses, "pause replica"
	}
	rows, err := s.pool.Query(ctx, q, replica)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if SQLState(err) == "P0002" {
		return nil, fmt.Errorf("%s: %w", what, ErrNoReplica)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return ids, nil
}

// Paused says whether a replica is to claim nothing. It isn't where its row is gone.
func (s *Store) Paused(ctx context.Context, replicaID string) (bool, error) {
	const q = `-- replica_paused
SELECT EXISTS (SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND paused_at IS NOT NULL)`
	var paused bool
	if err := s.pool.QueryRow(ctx, q, replicaID).Scan(&paused); err != nil {
		return false, fmt.Errorf("look whether the replica is paused: %w", err)
	}
	return paused, nil
}
