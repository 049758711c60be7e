package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Removed counts what retention took.
type Removed struct {
	Runs       int64
	Plans      int64
	Deliveries int64
}

// retentionWindow is how many ids one step of retention walks.
const retentionWindow = 5000

// keptLonger says that the task of r keeps its runs by itself, and not only until $3 seconds after their end.
const keptLonger = `EXISTS (SELECT FROM rowrun.task k WHERE k.id = r.task_id AND k.retention IS NOT NULL
                      AND (k.retention = interval '0' OR r.finished_at >= clock_timestamp() - k.retention))`

// notTheLast says that r is of a plan's task and isn't the run that tells how that task stands.
const notTheLast = `r.plan_id IS NOT NULL
  AND (EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = r.task_id AND u.plan_id IS NOT NULL
               AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
       OR r.id <> (SELECT coalesce(k.outcome_run_id, (SELECT n.id FROM rowrun.task_run n
                                                      WHERE n.task_id = k.id AND n.plan_id IS NOT NULL ORDER BY n.id DESC LIMIT 1))
                   FROM rowrun.task k WHERE k.id = r.task_id))`

// RemoveOld removes what ended longer ago than keep: of tasks without a plan whole chains once their last run has, of
// a plan's task earlier runs but never the last, and plans as a whole once every task is skipped or has only ended
// runs, all before that, and nothing is still to be told of them; deliveries once they are settled. A task's own
// retention goes before keep, but a plan as a whole is never removed before keep. It walks the runs by id in small
// transactions, so that it holds nothing up.
func (s *Store) RemoveOld(ctx context.Context, keep time.Duration) (Removed, error) {
	const window = `-- retention_window
SELECT coalesce(max(w.id), $1), coalesce(bool_or(w.created_at < clock_timestamp() - make_interval(secs => $2)), false)
FROM (SELECT id, created_at FROM rowrun.task_run WHERE id > $1 ORDER BY id LIMIT $3) w`
	const chains = `-- remove_old_chains
WITH RECURSIVE chain AS (
    SELECT r.id, r.retry_of FROM rowrun.task_run r
    WHERE r.id > $1 AND r.id <= $2 AND r.plan_id IS NULL AND r.retry_run_id IS NULL
      AND r.status IN ('DONE', 'FAILED', 'CANCELED') AND r.finished_at < clock_timestamp() - make_interval(secs => $3)
      AND NOT ` + keptLonger + `
    UNION ALL
    SELECT p.id, p.retry_of FROM chain c JOIN rowrun.task_run p ON p.id = c.retry_of
)
DELETE FROM rowrun.task_run WHERE id = ANY (ARRAY(SELECT id FROM chain))`
	const earlier = `-- remove_earlier_runs
DELETE FROM rowrun.task_run r
WHERE r.id > $1 AND r.id <= $2
  AND r.status IN ('DONE', 'FAILED', 'CANCELED') AND r.finished_at < clock_timestamp() - make_interval(secs => $3)
  AND NOT ` + keptLonger + ` AND ` + notTheLast
	const plans = `-- remove_old_plans
DELETE FROM rowrun.plan WHERE id = ANY (ARRAY(
    SELECT p.id FROM rowrun.plan p
    WHERE p.created_at < clock_timestamp() - make_interval(secs => $1)
      AND EXISTS (SELECT FROM rowrun.task k WHERE k.plan_id = p.id)
      AND NOT EXISTS (SELECT FROM rowrun.webhook_delivery d WHERE d.plan_id = p.id AND d.status = 'PENDING')
      AND NOT EXISTS (
          SELECT FROM rowrun.task k
          LEFT JOIN LATERAL (SELECT count(*) AS runs,
                                    bool_and(r.status IN ('DONE', 'FAILED', 'CANCELED')
                                             AND r.finished_at < clock_timestamp() - greatest(k.retention, make_interval(secs => $1))
                                             AND k.retention IS DISTINCT FROM interval '0') AS old
                             FROM rowrun.task_run r WHERE r.task_id = k.id AND r.plan_id IS NOT NULL) x ON true
          WHERE k.plan_id = p.id AND NOT ((k.skipped AND x.runs = 0) OR (x.runs > 0 AND x.old)))
    LIMIT 100))`
	const deliveries = `-- remove_old_deliveries
DELETE FROM rowrun.webhook_delivery WHERE id = ANY (ARRAY(
    SELECT d.id FROM rowrun.webhook_delivery d
    WHERE d.status <> 'PENDING' AND d.created_at < clock_timestamp() - make_interval(secs => $1)
      AND greatest(d.created_at, d.delivered_at, d.next_attempt_at) < clock_timestamp() - make_interval(secs => $1)
    ORDER BY d.created_at LIMIT 1000))`
	// An event that was being decided while its webhook was deleted.
	const orphans = `-- remove_orphaned_deliveries
DELETE FROM rowrun.webhook_delivery d
WHERE d.status = 'PENDING' AND d.created_at < clock_timestamp() - make_interval(secs => $1)
  AND NOT EXISTS (SELECT FROM rowrun.webhook w WHERE w.id = d.webhook_id)`
	var gone Removed
	after := int64(math.MinInt64)
	for {
		var upTo int64
		var old bool
		most := s.retentionSize.Most(retentionWindow)
		if err := s.pool.QueryRow(ctx, window, after, seconds(keep), most).Scan(&upTo, &old); err != nil {
			return gone, fmt.Errorf("remove old runs: %w", err)
		}
		if upTo == after || !old {
			break
		}
		b := &pgx.Batch{}
		for _, q := range []string{chains, earlier} {
			b.Queue(q, after, upTo, seconds(keep)).Exec(func(tag pgconn.CommandTag) error {
				gone.Runs += tag.RowsAffected()
				return nil
			})
		}
		err := s.pool.SendBatch(ctx, b).Close()
		if s.retentionSize.Done(most, err) && ctx.Err() == nil {
			continue // fewer at once
		}
		if err != nil {
			return gone, fmt.Errorf("remove old runs: %w", err)
		}
		after = upTo
	}
	early, err := s.removeEarly(ctx, keep)
	gone.Runs += early
	if err != nil {
		return gone, err
	}
	tag, err := s.pool.Exec(ctx, orphans, seconds(keep))
	if err != nil {
		return gone, fmt.Errorf("remove old deliveries: %w", err)
	}
	gone.Deliveries += tag.RowsAffected()
	for {
		tag, err := s.pool.Exec(ctx, plans, seconds(keep))
		if err != nil {
			return gone, fmt.Errorf("remove old plans: %w", err)
		}
		gone.Plans += tag.RowsAffected()
		if tag.RowsAffected() < 100 {
			break
		}
	}
	for {
		tag, err := s.pool.Exec(ctx, deliveries, seconds(keep))
		if err != nil {
			return gone, fmt.Errorf("remove old deliveries: %w", err)
		}
		gone.Deliveries += tag.RowsAffected()
		if tag.RowsAffected() < 1000 {
			return gone, nil
		}
	}
}
