package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Details of runs that nobody vouches for, as they stand in task_run.result.
const (
	detailStale       = "Task run abandoned: owning replica stopped responding"
	DetailLostContact = "Task run abandoned: its replica lost contact with the database"
	DetailDrained     = "Task run stopped: replica shut down"
)

// Clock is the database's clock at one moment. Leases are judged by it.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	var now time.Time
	if err := s.pool.QueryRow(ctx, statement("clock")).Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read the database's clock: %w", err)
	}
	return now, nil
}

// DeadReplicas lists who must be looked at: replicas whose lease has run out, as far as this replica was itself in
// unbroken contact for that long (after an outage every heartbeat is old, and nobody is dead); and names under which
// runs are RUNNING though no live row vouches for them. In a copy of another deployment nobody is listed: what runs
// there runs in its origin.
func (s *Store) DeadReplicas(ctx context.Context, contact time.Duration) ([]string, error) {
	return collect(ctx, s, "list dead replicas", statement("dead_replicas"), pgx.RowTo[string], seconds(contact))
}

// EndDeadReplica declares a replica dead, if its lease is still over when its row is locked, and fails its runs, in one
// transaction: at most 1,000, fewer after one that took too long; none: it has no more. Of several that sweep at once one
// does it, the others pass by (SKIP LOCKED). A claim that is under way holds the row, so that it is either seen by the next
// sweep or comes too late. Runs whose row, task or plan somebody holds are left to the next sweep too: DeadReplicas goes on
// naming their replica. One that the database refuses to end holds no other up: what was ended stands beside the error that
// tells of it.
func (s *Store) EndDeadReplica(ctx context.Context, replicaID string) ([]Ended, error) {
	var ended []Ended
	var refused error
	most := s.staleSize.Most(fullBatch)
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '1s'`); err != nil {
			return err
		}
		var name string
		err := tx.QueryRow(ctx, statement("lock_replica"), replicaID).Scan(&name)
		if errors.Is(err, pgx.ErrNoRows) {
			var taken bool
			if err = tx.QueryRow(ctx, statement("is_present"), replicaID).Scan(&taken); taken {
				return err // another replica settles its runs, or it lives and is just being written
			}
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, statement("declare_dead"), replicaID); err != nil {
			return err
		}
		var lives bool
		if err := tx.QueryRow(ctx, statement("is_alive"), replicaID).Scan(&lives); err != nil {
			return err
		}
		if lives {
			return nil
		}
		runs, err := staleRuns(ctx, tx, replicaID)
		if err != nil {
			return err
		}
		runs = runs[:min(len(runs), most)]
		if runs, err = lockFree(ctx, tx, runs); err != nil || len(runs) == 0 {
			return err
		}
		if runs, err = stillIts(ctx, tx, replicaID, runs); err != nil || len(runs) == 0 {
			return err
		}
		ended, refused, err = endEach(ctx, tx, runs, RetryStale, func(tx pgx.Tx, runs []int64, retry Retry, also string) ([]Ended, error) {
			rows, err := tx.Query(ctx, statement("end_stale_runs"), runs, detailStale+also, string(retry))
			if err != nil {
				return nil, err
			}
			return pgx.CollectRows(rows, pgx.RowToStructByPos[Ended])
		})
		return err
	})
	s.staleSize.Done(most, err)
	if err != nil {
		return nil, fmt.Errorf("end runs of dead replica: %w", err)
	}
	if refused != nil {
		return ended, fmt.Errorf("end runs of dead replica: %w", refused)
	}
	return ended, nil
}

// staleRuns are the runs that are RUNNING under a replica's name.
func staleRuns(ctx context.Context, tx pgx.Tx, replicaID string) ([]int64, error) {
	rows, err := tx.Query(ctx, statement("stale_runs"), replicaID)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// stillIts are those of runs, which are locked, that are RUNNING under the replica's name still: the app may have taken one over
// before it was locked, and works on it.
func stillIts(ctx context.Context, tx pgx.Tx, replicaID string, runs []int64) ([]int64, error) {
	its, err := staleRuns(ctx, tx, replicaID)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(runs, func(run int64) bool { return !slices.Contains(its, run) }), nil
}

// lockFree locks plans, tasks and runs, in this order, as far as nobody else holds them, and says which runs that are:
// somebody's long transaction on one plan delays the ends of no other.
func lockFree(ctx context.Context, tx pgx.Tx, runs []int64) ([]int64, error) {
	lock := func(q string, args ...any) ([]int64, error) {
		rows, err := tx.Query(ctx, q, args...)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	if len(runs) == 0 {
		return nil, nil
	}
	held, err := lock(statement("lock_free_plans"), runs)
	if err == nil {
		held, err = lock(statement("lock_free_tasks"), runs, held)
	}
	if err == nil {
		held, err = lock(statement("lock_free_runs"), runs, held)
	}
	return held, err
}

// overdue is how many runs EndOverdue ends in one transaction at most.
const overdue = 500

// Contact says of a replica since when it knows of the database, so that it judges no lease of a worker that had no chance to prolong it.
type Contact struct {
	// For is how long it was in unbroken contact: longer leases are not judged; those over 5 min are judged after that long.
	For time.Duration
	// AsOf is the database's clock at a moment at which it answered, which is before the statement: what delays that prolongs no
	// silence. Zero: its clock then.
	AsOf time.Time
	// Silences are shorter than what breaks contact. One that lasted longer than a third of a lease counts like an outage: the lease
	// isn't judged until it was in contact for as long as the lease again, unless it was over as the silence began.
	Silences []Silence
}

// Silence is a stretch of time in which nobody here knows whether the database answered, by the database's clock.
type Silence struct{ From, To time.Time }

// judged are the parameters of statements that judge leases of workers.
func (c Contact) judged() []any {
	from, to := make([]time.Time, len(c.Silences)), make([]time.Time, len(c.Silences))
	for i, s := range c.Silences {
		from[i], to[i] = s.From, s.To
	}
	var asOf *time.Time
	if !c.AsOf.IsZero() {
		asOf = &c.AsOf
	}
	return []any{seconds(c.For), asOf, from, to}
}

// EndOverdue ends runs that the app took over (HTTP 202) or a worker claimed and that ran out of time or stalled, and those
// whose worker let its lease run out: no replica holds them, so that every replica's sweep does. Leases are judged as far
// as this replica was itself in contact: after an outage each is over, and the workers live. What somebody holds is left to
// the next sweep, and so is one that the database refuses to end: the error tells of it, and all others are ended. What
// takes too long is followed by fewer in one transaction.
func (s *Store) EndOverdue(ctx context.Context, contact Contact) ([]Ended, error) {
	var all []Ended
	var refused error
	for after, more := int64(math.MinInt64), true; more; {
		most := s.overdueSize.Most(overdue)
		rows, err := s.pool.Query(ctx, statement("overdue_runs"), append([]any{after, most}, contact.judged()...)...)
		if err != nil {
			return all, fmt.Errorf("find overdue runs: %w", err)
		}
		runs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return all, fmt.Errorf("find overdue runs: %w", err)
		}
		if more = len(runs) == most; more {
			after = runs[most-1]
		}
		if len(runs) == 0 {
			return all, refused // most often: no transaction is begun for it
		}
		var ended []Ended
		var bad error
		err = s.inTx(ctx, func(tx pgx.Tx) error {
			runs, err := lockFreeClaims(ctx, tx, runs)
			if err == nil {
				runs, err = lockFree(ctx, tx, runs)
			}
			if err != nil || len(runs) == 0 {
				return err
			}
			ended, bad, err = endEach(ctx, tx, runs, RetryFailure, func(tx pgx.Tx, runs []int64, retry Retry, also string) ([]Ended, error) {
				rows, err := tx.Query(ctx, statement("end_overdue_runs"), append([]any{runs, string(retry), also, DetailLostContact}, contact.judged()...)...)
				if err != nil {
					return nil, err
				}
				return pgx.CollectRows(rows, pgx.RowToStructByPos[Ended])
			})
			if err != nil {
				return err
			}
			if err := removeEndedClaims(ctx, tx, ended); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, statement("record_stalled_overdue"), idsOf(ended)) // another sweep tells of what it has ended itself
			return err
		})
		s.overdueSize.Done(most, err)
		if err != nil { // nothing of this transaction stands
			return all, fmt.Errorf("end overdue runs: %w", err)
		}
		all = append(all, ended...)
		if bad != nil {
			refused = errors.Join(refused, fmt.Errorf("end overdue runs: %w", bad))
		}
	}
	return all, refused
}

// idsOf are the runs that were ended.
func idsOf(ended []Ended) []int64 {
	ids := make([]int64, len(ended))
	for i, e := range ended {
		ids[i] = e.ID
	}
	return ids
}
