package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// briefly is for how long an idle connection is trusted without a look.
	briefly = time.Second
	// silently is for how long one is trusted on which nothing came, not even its end.
	silently = 30 * time.Second
)

// mustPing says whether a connection is asked before it is used. A server that ends a session says so, by bytes and by
// the end of them: one that has said nothing is taken as it is, which saves each statement of an idle replica a round
// trip and the server a transaction.
func mustPing(_ context.Context, p pgxpool.ShouldPingParams) bool {
	return p.IdleDuration > briefly && (p.IdleDuration > silently || !silent(p.Conn.PgConn().Conn()))
}
