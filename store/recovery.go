package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// MaxBacklog is where counting the backlog of a recovery ends.
const MaxBacklog = 100_000

// Recovery is one that is under way: what was due when a replica came back after an outage of the deployment is being started.
type Recovery struct {
	ID int64 `json:"id"`
	// LastSeen is when a replica that claims was last alive before, BeganAt when the first was back.
	LastSeen time.Time `json:"last_seen"`
	BeganAt  time.Time `json:"began_at"`
	// Backlog counts the runs that were due then, Remaining those of them that are still to be started, as of CountedAt; both up
	// to MaxBacklog. Started counts all that were started since.
	Backlog   int64 `json:"backlog"`
	Remaining int64 `json:"remaining"`
	Started   int64 `json:"started"`
	// Rate is how many of the backlog were started per second lately, EstimatedEnd when it is gone at that rate; nil: not known.
	Rate         float64    `json:"rate"`
	CountedAt    time.Time  `json:"counted_at"`
	EstimatedEnd *time.Time `json:"estimated_end"`
}

// Outage is what a replica finds that comes to a deployment.
type Outage struct {
	// Recovery is under way, 0: none is.
	Recovery int64
	// Live: a replica that claims is alive.
	Live bool
	// Silent is for how long none has been, below 0: not known, or none ever was.
	Silent time.Duration
	// Backlog counts, up to MaxBacklog, the runs that are due and not started; 0 where there was no outage.
	Backlog int64
}

// LookForOutage asks whether the deployment comes out of an outage, for a replica that hasn't registered yet.
func (s *Store) LookForOutage(ctx context.Context, lease time.Duration, w Capabilities) (Outage, error) {
	var o Outage
	var silent float64
	err := s.pool.QueryRow(ctx, statement("look_for_outage"), seconds(lease), list(w.Queues), list(w.Types)).Scan(&o.Recovery, &o.Live, &silent, &o.Backlog)
	if err != nil {
		return Outage{}, fmt.Errorf("look for an outage: %w", err)
	}
	o.Silent = fromSeconds(&silent)
	return o, nil
}

// BeginRecovery begins a recovery; 0: one is under way.
func (s *Store) BeginRecovery(ctx context.Context, o Outage) (int64, error) {
	var id int64
	err := s.pool.QueryRow(ctx, statement("begin_recovery"), seconds(o.Silent), o.Backlog).Scan(&id)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("begin recovery: %w", err)
	}
	return id, nil
}

// FindRecovery reads the recovery that is under way; nil: none is.
func (s *Store) FindRecovery(ctx context.Context) (*Recovery, error) {
	var r Recovery
	err := s.pool.QueryRow(ctx, statement("find_recovery")).Scan(r.targets()...)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("find recovery: %w", err)
	}
	return &r, nil
}

func (r *Recovery) targets() []any {
	return []any{&r.ID, &r.LastSeen, &r.BeganAt, &r.Backlog, &r.Remaining, &r.Started, &r.Rate, &r.CountedAt, &r.EstimatedEnd}
}

// Counting says how a recovery is counted.
type Counting struct {
	Every, Note time.Duration // how often, and how often the stream tells of it
	Idle        bool          // this replica has room, and its last search has found nothing
	Lease       time.Duration
}

// CountRecovery adds what a replica has started since it last said so, and counts the backlog where it is time to. It returns
// whether the recovery is under way, and what was counted; nil: nothing was, now.
func (s *Store) CountRecovery(ctx context.Context, id, started int64, c Counting) (open bool, counted *Recovery, err error) {
	var due bool
	err = s.pool.QueryRow(ctx, statement("add_recovery_starts"), id, started, seconds(c.Every)).Scan(&open, &due)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil, nil
	case err != nil:
		return false, nil, fmt.Errorf("count recovery: %w", err)
	case !open || !due:
		return open, nil, nil
	}
	var r Recovery
	var ended bool
	err = s.pool.QueryRow(ctx, statement("count_recovery"), id, seconds(c.Every), seconds(c.Note), c.Idle, seconds(c.Lease)).Scan(append(r.targets(), &ended)...)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // another replica is at it
		return true, nil, nil
	case err != nil: // what was added stands
		return true, nil, fmt.Errorf("count recovery: %w", err)
	}
	return !ended, &r, nil
}

// TakeRecoveryStarts asks how many of so many runs may be started now in a recovery, where all replicas together start at most
// rate per second and burst at once; and after how long the next may be. Where the recovery has ended, all may.
func (s *Store) TakeRecoveryStarts(ctx context.Context, id int64, want int, rate, burst float64) (granted int, wait time.Duration, err error) {
	var next float64
	err = s.pool.QueryRow(ctx, statement("take_recovery_starts"), id, want, rate, burst).Scan(&granted, &next)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return want, 0, nil
	case err != nil:
		return 0, 0, fmt.Errorf("take starts: %w", err)
	}
	return granted, fromSeconds(&next), nil
}

// GiveRecoveryStarts gives back starts that were granted at this rate and not made.
func (s *Store) GiveRecoveryStarts(ctx context.Context, id int64, unused int, rate float64) error {
	if _, err := s.pool.Exec(ctx, statement("give_recovery_starts"), id, unused, rate); err != nil {
		return fmt.Errorf("give starts back: %w", err)
	}
	return nil
}

// AnnounceConcurrency says how many runs a replica executes at once from now on.
func (s *Store) AnnounceConcurrency(ctx context.Context, replicaID string, concurrency int) error {
	if _, err := s.pool.Exec(ctx, statement("announce_concurrency"), replicaID, concurrency); err != nil {
		return fmt.Errorf("announce concurrency: %w", err)
	}
	return nil
}
