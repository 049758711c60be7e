package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
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

// planWindow is how many plans one statement of retention looks at.
const planWindow = 100

// RemoveOld removes what ended longer ago than keep: deliveries once they are settled, of tasks without a plan whole chains
// once their last run has, of a plan's task earlier runs but never the last, and plans as a whole once every task is skipped
// or has only ended runs, all before that, and nothing is still to be told of them. What counts for a chain is its last run.
// A task's own retention goes before keep, but a plan as a whole is never removed before keep. It walks runs and plans by id
// in small transactions, so that it holds nothing up, and tells watch (may be nil) after each how much has gone so far.
func (s *Store) RemoveOld(ctx context.Context, keep Retention, watch func(Removed)) (Removed, error) {
	r := &removal{s: s, keep: keep, watch: watch}
	if watch == nil {
		r.watch = func(Removed) {}
	}
	for _, remove := range []func(context.Context) error{r.deliveries, r.runs, r.early, r.plans} {
		if err := remove(ctx); err != nil {
			return r.gone, err
		}
	}
	return r.gone, nil
}

// removal is one pass of retention.
type removal struct {
	s     *Store
	keep  Retention
	watch func(Removed)
	gone  Removed
}

func (r *removal) deliveries(ctx context.Context) error {
	tag, err := r.s.pool.Exec(ctx, statement("remove_orphaned_deliveries"), seconds(r.keep.Runs))
	if err != nil {
		return fmt.Errorf("remove old deliveries: %w", err)
	}
	r.gone.Deliveries += tag.RowsAffected()
	for {
		tag, err := r.s.pool.Exec(ctx, statement("remove_old_deliveries"), seconds(r.keep.Runs))
		if err != nil {
			return fmt.Errorf("remove old deliveries: %w", err)
		}
		r.gone.Deliveries += tag.RowsAffected()
		r.watch(r.gone)
		if tag.RowsAffected() < 1000 {
			return nil
		}
	}
}

func (r *removal) runs(ctx context.Context) error {
	s, keep := r.s, r.keep
	after := int64(math.MinInt64)
	for {
		var upTo int64
		var old bool
		most := s.retentionSize.Most(retentionWindow)
		if err := s.pool.QueryRow(ctx, statement("retention_window"), after, seconds(min(keep.Runs, keep.failed())), most).Scan(&upTo, &old); err != nil {
			return fmt.Errorf("remove old runs: %w", err)
		}
		if upTo == after || !old {
			return nil
		}
		var gone int64
		err := s.inTx(ctx, func(tx pgx.Tx) error {
			window := []any{after, upTo, seconds(keep.Runs), seconds(keep.failed())}
			chains, err := removeChains(ctx, tx, statement("lock_old_chains"), window...)
			if err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, statement("remove_earlier_runs"), window...)
			gone = chains + tag.RowsAffected()
			return err
		})
		if s.retentionSize.Done(most, err) && ctx.Err() == nil {
			continue // fewer at once
		}
		if err != nil {
			return fmt.Errorf("remove old runs: %w", err)
		}
		r.gone.Runs += gone
		after = upTo
		r.watch(r.gone)
	}
}

// removeChains removes the runs that a statement has locked, with the earlier ones of their chains.
func removeChains(ctx context.Context, tx pgx.Tx, lock string, args ...any) (int64, error) {
	rows, err := tx.Query(ctx, lock, args...)
	if err != nil {
		return 0, err
	}
	runs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(runs) == 0 {
		return 0, err
	}
	tag, err := tx.Exec(ctx, statement("remove_chains"), runs)
	return tag.RowsAffected(), err
}

func (r *removal) early(ctx context.Context) error {
	early, err := r.s.removeEarly(ctx, r.keep)
	r.gone.Runs += early
	return err
}

// plans removes plans as a whole. One that is too large for a statement stays, and is told of when those behind it have been
// looked at.
func (r *removal) plans(ctx context.Context) error {
	size := &r.s.planRetentionSize // what the cleanup before has found out
	var failed error
	for after := int64(0); ; {
		var upTo int64
		most := size.Most(planWindow)
		if err := r.s.pool.QueryRow(ctx, statement("retention_plans"), after, seconds(r.keep.Runs), most).Scan(&upTo); err != nil {
			return fmt.Errorf("remove old plans: %w", err)
		}
		if upTo == after {
			return failed
		}
		gone, err := r.plansUpTo(ctx, after, upTo)
		if size.Done(most, err) && ctx.Err() == nil {
			continue // fewer at once
		}
		if err != nil {
			if ctx.Err() != nil || !size.Hopeless() {
				return fmt.Errorf("remove old plans: %w", err)
			}
			failed = fmt.Errorf("remove old plans: plan %d: %w", upTo, err)
		}
		r.gone.Plans += gone
		after = upTo
		r.watch(r.gone)
	}
}

// plansUpTo locks the plans of a window that may go, and their tasks, so that nobody makes a run of one, and then asks again what may go.
func (r *removal) plansUpTo(ctx context.Context, after, upTo int64) (gone int64, err error) {
	keep, failed := seconds(r.keep.Runs), seconds(r.keep.failed())
	err = r.s.inTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, statement("lock_old_plans"), keep, failed, after, upTo)
		if err != nil {
			return err
		}
		plans, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil || len(plans) == 0 {
			return err
		}
		if rows, err = tx.Query(ctx, statement("lock_old_tasks"), plans); err != nil {
			return err
		}
		if plans, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil || len(plans) == 0 {
			return err
		}
		tag, err := tx.Exec(ctx, statement("remove_old_plans"), plans, keep, failed)
		gone = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, err
	}
	return gone, nil
}
