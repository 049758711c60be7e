package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// SilenceInserts has INSERTs notify nobody as long as this session lives: whoever calls it sees them in the log and
// wakes the replicas. False: somebody who notifies right now, or another session, kept it from that; try again.
func SilenceInserts(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var held bool
	if err := conn.QueryRow(ctx, statement("silence_inserts")).Scan(&held); err != nil {
		return false, fmt.Errorf("silence inserts: %w", err)
	}
	return held, nil
}

// UnsilenceInserts has INSERTs notify again.
func UnsilenceInserts(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, statement("unsilence_inserts")); err != nil {
		return fmt.Errorf("have inserts notify: %w", err)
	}
	return nil
}

// TellWakeSource records how a replica is woken: wal, notify or poll.
func (s *Store) TellWakeSource(ctx context.Context, replicaID, source string) error {
	if _, err := s.pool.Exec(ctx, statement("tell_wake_source"), replicaID, source); err != nil {
		return fmt.Errorf("tell wake source: %w", err)
	}
	return nil
}
