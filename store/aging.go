package store

import (
	"context"
	"fmt"
)

// AgeRuns raises the priority of runs that have waited for another interval of their task's aging, at most so many; how many it
// raised, and whether others may start for it, on their databases or behind their limits.
func (s *Store) AgeRuns(ctx context.Context, most int) (raised int, opened bool, err error) {
	var marks int
	if err := s.pool.QueryRow(ctx, statement("age_runs"), most).Scan(&raised, &marks); err != nil {
		return 0, false, fmt.Errorf("age runs: %w", err)
	}
	return raised, marks > 0, nil
}
