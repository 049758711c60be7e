package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// lockFreeClaims locks what workers hold of runs, and says which of the runs no worker is just prolonging or ending. It comes
// before the locks of plans, as a worker's own statements take them in this order.
func lockFreeClaims(ctx context.Context, tx pgx.Tx, runs []int64) ([]int64, error) {
	rows, err := tx.Query(ctx, statement("lock_free_claims"), runs)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// removeEndedClaims forgets what workers held of runs that have just ended.
func removeEndedClaims(ctx context.Context, tx pgx.Tx, ended []Ended) error {
	ids := make([]int64, len(ended))
	for i, e := range ended {
		ids[i] = e.ID
	}
	_, err := tx.Exec(ctx, statement("remove_ended_claims"), ids)
	return err
}

// RemoveOldWorkerRequests removes the requests of workers that nobody sends again.
func (s *Store) RemoveOldWorkerRequests(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, statement("remove_old_worker_requests")); err != nil {
		return fmt.Errorf("remove old requests of workers: %w", err)
	}
	return nil
}
