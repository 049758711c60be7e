package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Wait is a time in which a PENDING run is known to have waited.
type Wait struct {
	Cause string
	Since Instant
	Until Instant
	RunID *int64 // whose end it waited for; nil: it was for no run
}

// BoardWaits reads for what a run that is PENDING no more is known to have waited, in the order of their ends. What left no trace in
// the rows is not among it.
func (s *Store) BoardWaits(ctx context.Context, run int64) ([]Wait, error) {
	return collect(ctx, s, "read waits", statement("board_waits"), pgx.RowToStructByPos[Wait], run)
}
