package store

import (
	"context"
	"fmt"
	"time"
)

// earlyBatch is how many runs (beside the earlier ones of their chains) are removed by one statement.
const earlyBatch = 1000

// removeEarly removes runs of tasks whose own retention is shorter than keep; how many. It goes from task to task by
// an index that holds only runs which were inserted while their task had a retention: others wait for keep.
func (s *Store) removeEarly(ctx context.Context, keep time.Duration) (int64, error) {
	const window = `-- retention_tasks
SELECT coalesce(max(w.id), 0) FROM (
    SELECT k.id FROM rowrun.task k WHERE k.retention IS NOT NULL AND k.id > $1 ORDER BY k.id LIMIT 1000) w`
	// The subquery is asked for each task of the window: the index on (task_id, finished_at) answers it.
	const remove = `-- remove_early_runs
WITH RECURSIVE due AS (
    SELECT x.id, x.retry_of
    FROM rowrun.task t CROSS JOIN LATERAL (
        SELECT r.id, r.retry_of FROM rowrun.task_run r
        WHERE r.task_id = t.id AND r.own_retention AND r.status IN ('DONE', 'FAILED', 'CANCELED')
          AND r.finished_at < clock_timestamp() - t.retention
          AND CASE WHEN r.plan_id IS NULL THEN r.retry_run_id IS NULL ELSE ` + notTheLast + ` END
        ORDER BY r.finished_at LIMIT $4) x
    WHERE t.id > $1 AND t.id <= $2 AND t.retention > interval '0' AND t.retention < make_interval(secs => $3)
    LIMIT $4
), chain AS (
    SELECT id, retry_of FROM due
    UNION
    SELECT p.id, p.retry_of FROM chain c JOIN rowrun.task_run p ON p.id = c.retry_of
    WHERE p.plan_id IS NULL
)
DELETE FROM rowrun.task_run WHERE id = ANY (ARRAY(SELECT id FROM chain))`
	var sum int64
	for after := int64(0); ; {
		var upTo int64
		if err := s.pool.QueryRow(ctx, window, after).Scan(&upTo); err != nil {
			return sum, fmt.Errorf("read tasks with a retention: %w", err)
		}
		if upTo == 0 {
			return sum, nil
		}
		for {
			tag, err := s.pool.Exec(ctx, remove, after, upTo, seconds(keep), earlyBatch)
			if err != nil {
				return sum, fmt.Errorf("remove runs by their task's retention: %w", err)
			}
			sum += tag.RowsAffected()
			if tag.RowsAffected() < earlyBatch {
				break
			}
		}
		after = upTo
	}
}
