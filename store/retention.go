package store

import (
	"cmp"
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

// Retention is how long ended runs are kept where their task doesn't say.
type Retention struct {
	// Runs is for all, and for plans and deliveries. Required.
	Runs time.Duration
	// Failed is for those that are FAILED; 0: as Runs.
	Failed time.Duration
}

func (r Retention) failed() time.Duration { return cmp.Or(r.Failed, r.Runs) }

// retentionWindow is how many ids one step of retention walks.
const retentionWindow = 5000

// RemoveOld removes what ended longer ago than keep: of tasks without a plan whole chains once their last run has, of
// a plan's task earlier runs but never the last, and plans as a whole once every task is skipped or has only ended
// runs, all before that, and nothing is still to be told of them; deliveries once they are settled. What
// counts for a chain is its last run. A task's own retention goes before keep, but a plan as a whole is never removed before keep. It walks the runs by id in small
// transactions, so that it holds nothing up, and tells watch (may be nil) after each how much has gone so far.
func (s *Store) RemoveOld(ctx context.Context, keep Retention, watch func(Removed)) (gone Removed, err error) {
	if watch == nil {
		watch = func(Removed) {}
	}
	after := int64(math.MinInt64)
	for {
		var upTo int64
		var old bool
		most := s.retentionSize.Most(retentionWindow)
		if err := s.pool.QueryRow(ctx, statement("retention_window"), after, seconds(min(keep.Runs, keep.failed())), most).Scan(&upTo, &old); err != nil {
			return gone, fmt.Errorf("remove old runs: %w", err)
		}
		if upTo == after || !old {
			break
		}
		b := &pgx.Batch{}
		for _, q := range []string{statement("remove_old_chains"), statement("remove_earlier_runs")} {
			b.Queue(q, after, upTo, seconds(keep.Runs), seconds(keep.failed())).Exec(func(tag pgconn.CommandTag) error {
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
		watch(gone)
	}
	early, err := s.removeEarly(ctx, keep)
	gone.Runs += early
	if err != nil {
		return gone, err
	}
	tag, err := s.pool.Exec(ctx, statement("remove_orphaned_deliveries"), seconds(keep.Runs))
	if err != nil {
		return gone, fmt.Errorf("remove old deliveries: %w", err)
	}
	gone.Deliveries += tag.RowsAffected()
	for {
		tag, err := s.pool.Exec(ctx, statement("remove_old_plans"), seconds(keep.Runs), seconds(keep.failed()))
		if err != nil {
			return gone, fmt.Errorf("remove old plans: %w", err)
		}
		gone.Plans += tag.RowsAffected()
		watch(gone)
		if tag.RowsAffected() < 100 {
			break
		}
	}
	for {
		tag, err := s.pool.Exec(ctx, statement("remove_old_deliveries"), seconds(keep.Runs))
		if err != nil {
			return gone, fmt.Errorf("remove old deliveries: %w", err)
		}
		gone.Deliveries += tag.RowsAffected()
		watch(gone)
		if tag.RowsAffected() < 1000 {
			return gone, nil
		}
	}
}
