package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// HoldUp is a session that holds a lock which something of ours goes without or waits for. A lock that is held for a
// moment is none: it counts when two looks some seconds apart have found it.
type HoldUp struct {
	PID  int64
	User string // role, "?" where it is gone
	What string // what it keeps from happening, for people
}

// String names the session, and how to end it.
func (h HoldUp) String() string {
	return fmt.Sprintf("session %d of %s %s; to end it: SELECT pg_terminate_backend(%d)", h.PID, h.User, h.What, h.PID)
}

// HoldUps looks for sessions that hold up a deployment, at most 20.
func (s *Store) HoldUps(ctx context.Context) ([]HoldUp, error) {
	return collect(ctx, s, "look for locks of others", statement("hold_ups"), pgx.RowToStructByPos[HoldUp])
}

// Blockers are the sessions for whose locks this store's own sessions wait right now. None where a pooler stands
// between, which hides the sessions.
func (s *Store) Blockers(ctx context.Context) ([]HoldUp, error) {
	own := []int32{}
	s.sessions.Range(func(pid, _ any) bool {
		own = append(own, int32(pid.(uint32))) //nolint:gosec // a process id
		return true
	})
	if len(own) == 0 {
		return nil, nil
	}
	return collect(ctx, s, "look who blocks", statement("blockers"), pgx.RowToStructByPos[HoldUp], own)
}
