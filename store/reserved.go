package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ReservedQueue is a queue of which every live replica keeps all of its slots for runs of at least a priority.
type ReservedQueue struct {
	Queue    string
	Priority int
}

// ReservedQueues lists up to 100 queues of which runs of low priorities are taken by nobody.
func (s *Store) ReservedQueues(ctx context.Context) ([]ReservedQueue, error) {
	rows, err := s.pool.Query(ctx, statement("doctor_reserved"))
	if err != nil {
		return nil, fmt.Errorf("list reserved queues: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ReservedQueue])
	if err != nil {
		return nil, fmt.Errorf("list reserved queues: %w", err)
	}
	return found, nil
}
