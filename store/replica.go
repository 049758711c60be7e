package store

import (
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
}

// Register writes a replica's row, its first heartbeat. It comes before the first claim.
func (s *Store) Register(ctx context.Context, r Replica) error {
	const q = `-- register_replica
INSERT INTO rowrun.replica_heartbeat
    (replica_id, last_heartbeat, name, hostname, version, lease, queues, types, databases, commands, concurrency)
VALUES ($1, clock_timestamp(), $2, $3, $4, make_interval(secs => $5), $6, $7, $8, $9, $10)`
	_, err := s.pool.Exec(ctx, q, r.ID, r.Name, r.Hostname, r.Version, seconds(r.Lease),
		list(r.Queues), list(r.Types), list(r.Databases), list(r.Commands), r.Concurrency)
	if err != nil {
		return fmt.Errorf("register replica: %w", err)
	}
	return nil
}

// list keeps an empty list from being written as NULL.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// Heartbeat renews a replica's lease and vouches for all its runs. ErrDead: it was declared dead, or its row is gone.
// ErrElsewhere: the database behind the address is another one by now, a copy.
func (s *Store) Heartbeat(ctx context.Context, replicaID string, running int) error {
	const q = `-- heartbeat
UPDATE rowrun.replica_heartbeat SET last_heartbeat = clock_timestamp(), running = $2
WHERE replica_id = $1 AND state <> 'DEAD' RETURNING rowrun.deployment_elsewhere()`
	var elsewhere bool
	err := s.beats.QueryRow(ctx, q, replicaID, running).Scan(&elsewhere)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrDead
	case err != nil:
		return fmt.Errorf("heartbeat: %w", err)
	case elsewhere:
		return ErrElsewhere
	}
	return nil
}

// Drain says that a replica takes nothing new.
func (s *Store) Drain(ctx context.Context, replicaID string) error {
	const q = `-- drain_replica
UPDATE rowrun.replica_heartbeat SET last_heartbeat = clock_timestamp(), state = 'DRAINING'
WHERE replica_id = $1 AND state = 'ACTIVE'`
	if _, err := s.beats.Exec(ctx, q, replicaID); err != nil {
		return fmt.Errorf("drain replica: %w", err)
	}
	return nil
}

// Deregister removes a replica's row: the last thing that it does.
func (s *Store) Deregister(ctx context.Context, replicaID string) error {
	const q = `-- deregister_replica
DELETE FROM rowrun.replica_heartbeat WHERE replica_id = $1`
	if _, err := s.pool.Exec(ctx, q, replicaID); err != nil {
		return fmt.Errorf("deregister replica: %w", err)
	}
	return nil
}

// RemoveOldHeartbeats removes the rows of replicas that were not heard of for that long and are not alive by their
// own lease; how many.
func (s *Store) RemoveOldHeartbeats(ctx context.Context, older time.Duration) (int64, error) {
	const q = `-- remove_old_heartbeats
DELETE FROM rowrun.replica_heartbeat
WHERE last_heartbeat < clock_timestamp() - greatest(lease, make_interval(secs => $1))
  AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.replica_id = replica_heartbeat.replica_id AND r.status = 'RUNNING')`
	tag, err := s.pool.Exec(ctx, q, seconds(older))
	if err != nil {
		return 0, fmt.Errorf("remove old heartbeats: %w", err)
	}
	return tag.RowsAffected(), nil
}
