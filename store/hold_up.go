package store

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
)

// HoldUp is a session that holds a lock which something of ours goes without or waits for. A lock that is held for a
// moment is none: it counts when two looks some seconds apart have found it.
type HoldUp struct {
	PID  int64  // 0: a prepared transaction, which has no session
	User string // role, "?" where it is gone; the name of a prepared transaction
	What string // what it keeps from happening, for people
}

// String names the session, and how to end it.
func (h HoldUp) String() string { return h.Who() + " " + h.What + "; to end it: " + h.End() }

// Who names the session or the prepared transaction, in printable characters.
func (h HoldUp) Who() string {
	if h.PID == 0 {
		return "the prepared transaction " + literal(h.User)
	}
	return fmt.Sprintf("session %d of %s", h.PID, h.User)
}

// End is the statement that ends it.
func (h HoldUp) End() string {
	if h.PID == 0 {
		return "ROLLBACK PREPARED " + literal(h.User)
	}
	return fmt.Sprintf("SELECT pg_terminate_backend(%d)", h.PID)
}

// literal is text as SQL writes it, on one line and without what controls a terminal.
func literal(text string) string {
	plain := true
	for _, r := range text {
		plain = plain && r != '\\' && unicode.IsPrint(r)
	}
	quoted := strings.ReplaceAll(text, "'", "''")
	if plain {
		return "'" + quoted + "'"
	}
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	return "E'" + b.String() + "'"
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
