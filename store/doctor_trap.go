package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Trap is a setting of somebody's that makes rows, triggers or connections fail in silence.
type Trap struct {
	// Kind is row_security, replication_role or connections.
	Kind string
	// Object is a table, "role NAME", "database NAME", "server", or for both of a role and a database "role A in database B";
	// names are quoted as SQL wants them.
	Object string
	// Limit and Open are connections: how many may be, and are, open.
	Limit, Open int64
}

// Traps looks for row security on our tables that holds for who asks, for sessions in which triggers don't fire, and for
// limits on the connections of who asks.
func (s *Store) Traps(ctx context.Context) ([]Trap, error) {
	return collect(ctx, s, "look for traps", statement("doctor_traps"), pgx.RowToStructByPos[Trap])
}
