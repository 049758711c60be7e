package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// earlyBatch is how many runs (beside the earlier ones of their chains) are removed by one statement.
const earlyBatch = 1000

// removeEarly removes runs of tasks whose own retention is shorter than keep; how many. It goes from task to task by
// an index that holds only runs which were inserted while their task had a retention: others wait for keep.
func (s *Store) removeEarly(ctx context.Context, keep Retention) (int64, error) {
	var sum int64
	for after := int64(0); ; {
		var upTo int64
		if err := s.pool.QueryRow(ctx, statement("retention_tasks"), after).Scan(&upTo); err != nil {
			return sum, fmt.Errorf("read tasks with a retention: %w", err)
		}
		if upTo == 0 {
			return sum, nil
		}
		for {
			var gone int64
			err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
				gone, err = removeChains(ctx, tx, statement("lock_early_runs"), after, upTo, seconds(keep.Runs), seconds(keep.failed()), earlyBatch)
				return err
			})
			if err != nil {
				return sum, fmt.Errorf("remove runs by their task's retention: %w", err)
			}
			sum += gone
			if gone < earlyBatch {
				break
			}
		}
		after = upTo
	}
}
