package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Status is how a deployment stands.
type Status struct {
	// Pending, Available and Running count the runs that have not ended, the first two up to MaxUnfinishedCount.
	Pending, Available, Running int64
	// FailedLastDay counts the runs that failed for good in the last 24 hours, up to MaxFailedCount.
	FailedLastDay int64
	// StreamWriter is the replica that last began to write the stream, "" where none ever did. It does so no longer
	// where it isn't among the live replicas.
	StreamWriter string
	// NotifyQueue is how full the server's queue of notifications is, 0 to 1.
	NotifyQueue float64
	// Replicas are those whose row is there, the oldest first.
	Replicas []ReplicaStatus
}

const (
	// MaxFailedCount is where counting the failed runs ends.
	MaxFailedCount = 10_000
	// MaxUnfinishedCount is where counting the runs that are PENDING ends, and those that are AVAILABLE.
	MaxUnfinishedCount = 1_000_000
)

// ReplicaStatus is a row of the view replica_status.
type ReplicaStatus struct {
	ReplicaID     string    `json:"replica_id"`
	Name          string    `json:"name"`
	Hostname      string    `json:"hostname"`
	Version       string    `json:"version"`
	State         string    `json:"state"`
	Live          bool      `json:"live"`
	StartedAt     time.Time `json:"started_at"`
	LastHeartbeat time.Time `json:"last_heartbeat"`
	// SilentMS is how long ago its heartbeat was, by the database's clock, in milliseconds.
	SilentMS    float64  `json:"silent_ms"`
	LeaseMS     float64  `json:"lease_ms"`
	Queues      []string `json:"queues"`
	Types       []string `json:"types"`
	Databases   []string `json:"databases"`
	Commands    []string `json:"commands"`
	Concurrency int      `json:"concurrency"`
	Running     int64    `json:"running"`
	// Stream: it last began to write the stream.
	Stream bool `json:"stream"`
	// PausedAt is since when it claims nothing because an operator said so; nil: it isn't paused.
	PausedAt *time.Time `json:"paused_at"`
	Role     string     `json:"role"` // RoleWorker or RoleAdmin
	// Engines are those of Databases that are not PostgreSQL, by name.
	Engines map[string]string `json:"engines"`
}

// Status reads how the deployment stands, of one moment: who writes the stream is among the replicas that are told
// beside it. It reads no run that ended before the last day.
func (s *Store) Status(ctx context.Context) (Status, error) {
	var st Status
	moment := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.pool, moment, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, statement("status_counts"), MaxUnfinishedCount).Scan(&st.Pending, &st.Available, &st.Running, &st.FailedLastDay, &st.StreamWriter, &st.NotifyQueue)
		if err != nil {
			return fmt.Errorf("count runs: %w", err)
		}
		rows, err := tx.Query(ctx, statement("status_replicas"))
		if err != nil {
			return fmt.Errorf("read replicas: %w", err)
		}
		if st.Replicas, err = pgx.CollectRows(rows, pgx.RowToStructByName[ReplicaStatus]); err != nil {
			return fmt.Errorf("read replicas: %w", err)
		}
		return nil
	})
	return st, err
}
