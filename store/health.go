package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxWaitingCount is where counting the runs that wait ends, for each of PENDING and AVAILABLE.
const maxWaitingCount = 10000

// ErrReadOnly says that the server is a primary, and its sessions take no writes all the same.
var ErrReadOnly = errors.New("the database takes no writes: default_transaction_read_only is on")

var (
	// ErrTriggersOff says that Rowrun's triggers don't fire in the sessions of this role.
	ErrTriggersOff = errors.New("session_replication_role is replica: no trigger fires, statuses and notifications go wrong (rowrun doctor)")
	// ErrRowsHidden says that this role doesn't see all rows.
	ErrRowsHidden = errors.New("row level security hides rows of Rowrun's tables from this role (rowrun doctor)")
)

// WaitingRuns counts the runs of one status and type that wait, as far as counting goes.
type WaitingRuns struct {
	Status string // PENDING or AVAILABLE
	Type   string
	Runs   int64
}

// Health is what a replica reports of the database, besides what it does itself.
type Health struct {
	// Waiting counts PENDING and AVAILABLE runs by type, up to maxWaitingCount of each status.
	Waiting []WaitingRuns
	// OldestAvailable is for how long the oldest of the AVAILABLE runs, of up to maxWaitingCount, has waited, 0: there is none.
	OldestAvailable time.Duration
	// Overdue counts, up to maxWaitingCount, the PENDING runs that nobody has looked at for more than ten seconds after
	// they were due; OverdueFor is for how long the oldest was.
	Overdue    int64
	OverdueFor time.Duration
	// LiveReplicas are those that claim and whose lease is in force.
	LiveReplicas int64
	// LiveAdmins are such that claim nothing; they are not among LiveReplicas.
	LiveAdmins int64
	// Stale counts, up to maxWaitingCount, the RUNNING runs of replicas and workers whose lease is over.
	Stale int64
	// NotifyQueue is how full the server's notification queue is, 0 to 1.
	NotifyQueue float64
	// OrphanTypes counts the task types of which runs wait that no live replica could run, Orphans these runs, as the
	// last look of a replica has counted them.
	OrphanTypes, Orphans int64
	// OldestDelivery is, for each reason of deliveryReasons, for how long the oldest delivery has been PENDING that waits for
	// it; 0: none does.
	OldestDelivery map[string]time.Duration
	// FailingWebhooks counts the webhooks whose oldest PENDING delivery was refused, or lacks its URL or secret.
	FailingWebhooks int64
	// MissedSchedules counts, among the runs that are overdue or AVAILABLE, the tasks with a tick that should have started over
	// a minute ago.
	MissedSchedules int64
	// StoppedSchedules counts the tasks whose schedule was paused by itself, as it can't be followed any more.
	StoppedSchedules int64
	// Recovery is the recovery from an outage that is under way, nil: none is.
	Recovery *Recovery
	// SlotLag is how many bytes the deployment's replication slot is behind; nil: there is no such slot.
	SlotLag *int64
}

// Health asks the database how it stands: the view rowrun.health, and what waits by type. What it reads is bounded, whatever the tables hold.
func (s *Store) Health(ctx context.Context) (Health, error) {
	var h Health
	b := &pgx.Batch{}
	reasons := deliveryReasons()
	b.Queue(statement("health_gauges")).QueryRow(func(row pgx.Row) error {
		var available, overdue float64
		var oldest []float64
		err := row.Scan(&h.LiveReplicas, &h.LiveAdmins, &available, &h.Overdue, &overdue, &h.Stale, &h.OrphanTypes, &h.Orphans,
			&h.FailingWebhooks, &oldest, &h.MissedSchedules, &h.StoppedSchedules, &h.NotifyQueue, &h.SlotLag)
		h.OldestAvailable, h.OverdueFor = fromSeconds(&available), fromSeconds(&overdue)
		h.Overdue = min(h.Overdue, maxWaitingCount)
		h.OldestDelivery = make(map[string]time.Duration, len(reasons))
		for i, age := range oldest {
			h.OldestDelivery[reasons[i]] = fromSeconds(&age)
		}
		return err
	})
	b.Queue(statement("health_waiting")).Query(func(rows pgx.Rows) error {
		var w WaitingRuns
		_, err := pgx.ForEachRow(rows, []any{&w.Status, &w.Type, &w.Runs}, func() error {
			h.Waiting = append(h.Waiting, w)
			return nil
		})
		return err
	})
	b.Queue(statement("find_recovery")).Query(func(rows pgx.Rows) error {
		var r Recovery
		_, err := pgx.ForEachRow(rows, r.targets(), func() error {
			h.Recovery = &r
			return nil
		})
		return err
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return Health{}, fmt.Errorf("read health: %w", err)
	}
	return h, nil
}

// StartDelays tells, of those of these runs that were started, how long after their insert, or after their run_at
// where that is later, that was.
func (s *Store) StartDelays(ctx context.Context, ids []int64) ([]time.Duration, error) {
	rows, err := s.pool.Query(ctx, statement("start_delays"), ids)
	if err != nil {
		return nil, fmt.Errorf("read start delays: %w", err)
	}
	delays, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (time.Duration, error) {
		var delay float64
		err := row.Scan(&delay)
		return max(0, fromSeconds(&delay)), err
	})
	if err != nil {
		return nil, fmt.Errorf("read start delays: %w", err)
	}
	return delays, nil
}

// Writable asks whether the database takes writes, and does with them what it should: ErrStandby, ErrReadOnly,
// ErrTriggersOff, ErrRowsHidden.
func (s *Store) Writable(ctx context.Context) error {
	var standby, readOnly, silent, hidden bool
	if err := s.pool.QueryRow(ctx, statement("writable")).Scan(&standby, &readOnly, &silent, &hidden); err != nil {
		return fmt.Errorf("ask whether the database is writable: %w", err)
	}
	switch {
	case standby:
		return ErrStandby
	case readOnly:
		return ErrReadOnly
	case silent:
		return ErrTriggersOff
	case hidden:
		return ErrRowsHidden
	}
	return nil
}

// TakesWrites asks whether the database takes writes from others, for one who only reads: ErrStandby, ErrReadOnly. A role or
// session that is read only by itself says nothing about that.
func (s *Store) TakesWrites(ctx context.Context) error {
	var standby, readOnly bool
	if err := s.pool.QueryRow(ctx, statement("takes_writes")).Scan(&standby, &readOnly); err != nil {
		return fmt.Errorf("ask whether the database takes writes: %w", err)
	}
	switch {
	case standby:
		return ErrStandby
	case readOnly:
		return ErrReadOnly
	}
	return nil
}

// ReplicaSeen is a replica as its row tells.
type ReplicaSeen struct {
	ReplicaID     string
	Name          string
	Version       string
	State         string // ACTIVE, DRAINING or DEAD
	Live          bool   // its lease is in force
	Paused        bool   // it claims nothing, because an operator said so
	Running       int64
	LastHeartbeat time.Time
	Worker        bool   // a program that claims by functions
	Role          string // RoleWorker or RoleAdmin
}

// Replicas lists the replicas and workers whose row is there, the oldest first, up to 1,000.
func (s *Store) Replicas(ctx context.Context) ([]ReplicaSeen, error) {
	return collect(ctx, s, "read replicas", statement("replicas"), pgx.RowToStructByPos[ReplicaSeen])
}

// PoolStats is how a replica's connections to its database are used, all of its pools together.
type PoolStats struct {
	Max, Open, Used int64
	// Waits counts how often a connection had to be waited for since the start, WaitedFor how long that took in all.
	Waits     int64
	WaitedFor time.Duration
}

// PoolStats never asks the database.
func (s *Store) PoolStats() PoolStats {
	var sum PoolStats
	for i, pool := range []*pool{s.pool, s.beats, s.passes, s.ends} {
		if i > 0 && pool == s.pool {
			continue // a command has but one
		}
		stat := pool.Stat()
		sum.Max += int64(stat.MaxConns())
		sum.Open += int64(stat.TotalConns())
		sum.Used += int64(stat.AcquiredConns())
		sum.Waits += stat.EmptyAcquireCount()
		sum.WaitedFor += stat.EmptyAcquireWaitTime()
	}
	return sum
}
