package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// SilenceInserts has INSERTs notify nobody as long as this session lives: whoever calls it sees them in the log and
// wakes the replicas. False: somebody who notifies right now, or another session, kept it from that; try again.
func SilenceInserts(ctx context.Context, conn *pgx.Conn) (bool, error) {
	const q = `-- silence_inserts
SELECT pg_try_advisory_lock(1920298607, 3)`
	var held bool
	if err := conn.QueryRow(ctx, q).Scan(&held); err != nil {
		return false, fmt.Errorf("silence inserts: %w", err)
	}
	return held, nil
}

// UnsilenceInserts has INSERTs notify again.
func UnsilenceInserts(ctx context.Context, conn *pgx.Conn) error {
	const q = `-- unsilence_inserts
SELECT pg_advisory_unlock(1920298607, 3)`
	if _, err := conn.Exec(ctx, q); err != nil {
		return fmt.Errorf("have inserts notify: %w", err)
	}
	return nil
}

// TellWakeSource records how a replica is woken: wal, notify or poll.
func (s *Store) TellWakeSource(ctx context.Context, replicaID, source string) error {
	const q = `-- tell_wake_source
UPDATE rowrun.replica_heartbeat SET wake_source = $2 WHERE replica_id = $1 AND wake_source IS DISTINCT FROM $2`
	if _, err := s.pool.Exec(ctx, q, replicaID, source); err != nil {
		return fmt.Errorf("tell wake source: %w", err)
	}
	return nil
}
