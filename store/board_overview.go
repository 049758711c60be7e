package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// boardCount is where counting ends.
const boardCount = 10000

// Bounded is a number of rows, as far as counting went.
type Bounded struct {
	N       int64 `json:"n,string"`
	AtLeast bool  `json:"at_least"` // there may be more
}

// BoundedBy is a count that ended at most.
func BoundedBy(n, most int64) Bounded { return Bounded{min(n, most), n >= most} }

// BoardOverview is what the overview counts besides Health. All of it is bounded.
type BoardOverview struct {
	Now           Instant
	Running       Bounded
	FailedLastDay Bounded
	Stale         int     // replicas whose lease ran out and that aren't DEAD yet
	Retrying      Bounded // deliveries that were tried in vain and are tried again
	Queues        []BoardQueue
	Longest       []BoardRun // that run, the longest first
}

// BoardQueue is a queue of which runs are AVAILABLE.
type BoardQueue struct {
	Queue         string  `json:"queue"`
	Available     Bounded `json:"available"`
	OldestSeconds float64 `json:"oldest_seconds"` // of those that were counted
}

// BoardOverview asks how the deployment stands.
func (s *Store) BoardOverview(ctx context.Context) (BoardOverview, error) {
	var o BoardOverview
	b := &pgx.Batch{}
	b.Queue(statement("board_overview")).QueryRow(func(row pgx.Row) error {
		var running, failed, retrying int64
		err := row.Scan(&o.Now, &running, &failed, &o.Stale, &retrying)
		o.Running, o.FailedLastDay, o.Retrying = BoundedBy(running, boardCount), BoundedBy(failed, boardCount), BoundedBy(retrying, boardCount)
		return err
	})
	b.Queue(statement("board_queues")).Query(func(rows pgx.Rows) (err error) {
		o.Queues, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (q BoardQueue, err error) {
			var n int64
			err = row.Scan(&q.Queue, &n, &q.OldestSeconds)
			q.Available = BoundedBy(n, 1000)
			return q, err
		})
		return err
	})
	b.Queue(statement("board_longest")).Query(func(rows pgx.Rows) (err error) {
		o.Longest, err = pgx.CollectRows(rows, pgx.RowToStructByPos[BoardRun])
		return err
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return BoardOverview{}, fmt.Errorf("read overview: %w", err)
	}
	return o, nil
}

// BoardStep is what the rows tell of a step of the past.
type BoardStep struct {
	At       time.Time
	Inserted int64    // ids that were drawn for runs: no fewer than were inserted
	Failed   int64    // for good
	StartP50 *float64 // ms from the insert, or run_at, to the start, of a few; nil: none started
}

// BoardPast asks the rows for so many steps up to the last whole one. What it reads doesn't grow with the table.
func (s *Store) BoardPast(ctx context.Context, step time.Duration, steps int) ([]BoardStep, error) {
	return collect(ctx, s, "read the past", statement("board_past"), pgx.RowToStructByPos[BoardStep], step.Seconds(), steps)
}

// BoardReplica is a replica or a worker.
type BoardReplica struct {
	ReplicaID     string   `json:"replica_id"`
	Name          string   `json:"name"`
	Hostname      string   `json:"hostname"`
	Version       string   `json:"version"`
	State         string   `json:"state"`
	Live          bool     `json:"live"`
	Worker        bool     `json:"worker"`
	StartedAt     Instant  `json:"started_at"`
	LastHeartbeat Instant  `json:"last_heartbeat"`
	SilentMS      float64  `json:"silent_ms"`
	LeaseMS       float64  `json:"lease_ms"`
	Queues        []string `json:"queues"`
	Types         []string `json:"types"`
	Databases     []string `json:"databases"`
	Commands      []string `json:"commands"`
	Concurrency   int      `json:"concurrency"`
	Running       int64    `json:"running,string"`
	Stream        bool     `json:"stream"`
	WakeSource    *string  `json:"wake_source"`
	PausedAt      *Instant `json:"paused_at"`
}

// BoardReplicas reads the replicas and workers, the oldest first, at most 1,000.
func (s *Store) BoardReplicas(ctx context.Context) ([]BoardReplica, error) {
	return collect(ctx, s, "read replicas", statement("board_replicas"), pgx.RowToStructByPos[BoardReplica])
}

// BoardType is a type of tasks.
type BoardType struct {
	Type      string  `json:"type"`
	Replicas  int64   `json:"replicas,string"`
	Tasks     Bounded `json:"tasks"` // among the newest 10,000
	Pending   Bounded `json:"pending"`
	Available Bounded `json:"available"`
	Running   Bounded `json:"running"`
	Orphans   int64   `json:"orphans,string"`
	Draining  bool    `json:"draining"`
	AliasOf   *string `json:"alias_of"`
}

// BoardTypes reads the types that live replicas, rules, the newest tasks and the runs that wait or run name.
func (s *Store) BoardTypes(ctx context.Context) ([]BoardType, error) {
	return collect(ctx, s, "list types", statement("board_types"), func(row pgx.CollectableRow) (t BoardType, err error) {
		var tasks, pending, available, running int64
		var all [4]bool
		err = row.Scan(&t.Type, &t.Replicas, &tasks, &pending, &available, &running, &t.Orphans, &t.Draining, &t.AliasOf, &all[0], &all[1], &all[2], &all[3])
		t.Tasks, t.Pending, t.Available, t.Running = Bounded{tasks, !all[0]}, Bounded{pending, !all[1]}, Bounded{available, !all[2]}, Bounded{running, !all[3]}
		return t, err
	})
}

// BoardRole is what a process's database role may do on the dashboard.
type BoardRole struct {
	Name     string
	Author   bool
	Operator bool // it may SET ROLE rowrun_operator
}

// BoardRole asks what this process's role may do.
func (s *Store) BoardRole(ctx context.Context) (BoardRole, error) {
	return collectOne(ctx, s, "read role", statement("board_role"), pgx.RowToStructByPos[BoardRole])
}

// newest is the newest run, task or delivery (kind) there is: what comes later is above.
func (s *Store) newest(ctx context.Context, tx pgx.Tx, kind string) (id int64, err error) {
	err = tx.QueryRow(ctx, statement("board_newest"), kind).Scan(&id)
	return id, err
}
