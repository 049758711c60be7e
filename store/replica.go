package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Replica is what a replica says of itself.
type Replica struct {
	ID          string
	Name        string
	Hostname    string
	Version     string
	Lease       time.Duration
	Queues      []string
	Types       []string
	Databases   []string
	Commands    []string
	Concurrency int
	Reserve     []int32 // a priority, and how many slots only runs of at least that take, and so on
	Role        string  // RoleWorker or RoleAdmin
	// Engines are those of Databases that are not PostgreSQL, by name.
	Engines map[string]string
	// TypeConcurrency is how many runs of a type it executes at once where that is less, by type; "*": of each other type.
	TypeConcurrency map[string]int
}

// Roles of replicas.
const (
	RoleWorker = "worker"
	RoleAdmin  = "admin" // it claims nothing
)

// Register writes a replica's row, its first heartbeat. It comes before the first claim.
func (s *Store) Register(ctx context.Context, r Replica) error {
	_, err := s.pool.Exec(ctx, statement("register_replica"), r.ID, r.Name, r.Hostname, r.Version, seconds(r.Lease),
		list(r.Queues), list(r.Types), list(r.Databases), list(r.Commands), r.Concurrency, cmp.Or(r.Role, RoleWorker), r.Reserve,
		bounds(r.TypeConcurrency))
	if err != nil {
		return fmt.Errorf("register replica: %w", err)
	}
	if len(r.Engines) == 0 {
		return nil
	}
	if _, err := s.pool.Exec(ctx, statement("set_engines"), r.ID, r.Engines); err != nil {
		return fmt.Errorf("say the engines of the targets: %w", err)
	}
	return nil
}

// bounds keeps an empty map from being written as NULL.
func bounds(m map[string]int) map[string]int {
	if m == nil {
		return map[string]int{}
	}
	return m
}

// AnnounceDatabases says which target databases a replica reaches from now on, the engines of those that are not PostgreSQL, and why
// others are set aside.
func (s *Store) AnnounceDatabases(ctx context.Context, replicaID string, databases []string, engines, aside map[string]string) error {
	if engines == nil {
		engines = map[string]string{}
	}
	if aside == nil {
		aside = map[string]string{}
	}
	if _, err := s.pool.Exec(ctx, statement("announce_databases"), replicaID, list(databases), engines, aside); err != nil {
		return fmt.Errorf("say which databases are reached: %w", err)
	}
	return nil
}

// SetAside is a target database that a live replica knows and can't reach.
type SetAside struct{ Database, Replica, Why string }

// SetAside reads which target databases live replicas can't reach, the first 100.
func (s *Store) SetAside(ctx context.Context) ([]SetAside, error) {
	return collect(ctx, s, "read what is set aside", statement("doctor_set_aside"), pgx.RowToStructByPos[SetAside])
}

// list keeps an empty list from being written as NULL.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// Heartbeat renews a replica's lease and vouches for all its runs. ErrDead: it was declared dead, or its row is gone.
// ErrElsewhere: the database behind the address is another one by now, a copy. ErrDrain: it was written, and an operator has
// asked the replica to drain.
func (s *Store) Heartbeat(ctx context.Context, replicaID string, running int) error {
	var elsewhere, drain bool
	err := s.beats.QueryRow(ctx, statement("heartbeat"), replicaID, running).Scan(&elsewhere, &drain)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrDead
	case err != nil:
		return fmt.Errorf("heartbeat: %w", err)
	case elsewhere:
		return ErrElsewhere
	case drain:
		return ErrDrain
	}
	return nil
}

// Drain says that a replica takes nothing new.
func (s *Store) Drain(ctx context.Context, replicaID string) error {
	if _, err := s.beats.Exec(ctx, statement("drain_replica"), replicaID); err != nil {
		return fmt.Errorf("drain replica: %w", err)
	}
	return nil
}

// Deregister removes a replica's row: the last thing that it does.
func (s *Store) Deregister(ctx context.Context, replicaID string) error {
	if _, err := s.pool.Exec(ctx, statement("deregister_replica"), replicaID); err != nil {
		return fmt.Errorf("deregister replica: %w", err)
	}
	return nil
}

// RemoveOldHeartbeats removes the rows of replicas that were not heard of for that long and are not alive by their
// own lease; how many.
func (s *Store) RemoveOldHeartbeats(ctx context.Context, older time.Duration) (int64, error) {
	var removed int64
	if err := s.pool.QueryRow(ctx, statement("remove_old_heartbeats"), seconds(older)).Scan(&removed); err != nil {
		return 0, fmt.Errorf("remove old heartbeats: %w", err)
	}
	return removed, nil
}
