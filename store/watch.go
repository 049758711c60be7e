package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Held is how a run that a replica executes stands in the table.
type Held struct {
	ID int64
	// Lost: it is not RUNNING under this replica any more; who executes it must stop.
	Lost bool
	// CancelRequested: a cancel was asked for.
	CancelRequested bool
	// Silent is how long ago its start or last progress was.
	Silent time.Duration
}

// Watch tells how the runs that a replica executes stand. Runs that have been removed are missing.
func (s *Store) Watch(ctx context.Context, replicaID string, ids []int64) ([]Held, error) {
	rows, err := s.pool.Query(ctx, statement("watch_runs"), replicaID, ids)
	if err != nil {
		return nil, fmt.Errorf("watch runs: %w", err)
	}
	held, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Held, error) {
		var h Held
		var silent *float64
		err := row.Scan(&h.ID, &h.Lost, &h.CancelRequested, &silent)
		h.Silent = fromSeconds(silent)
		return h, err
	})
	if err != nil {
		return nil, fmt.Errorf("watch runs: %w", err)
	}
	return held, nil
}
