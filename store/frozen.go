package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// EndFrozenSessions ends the sessions of this role that hold the lock of the gates or the row of a replica, whose statement has run for
// longer than limit, and whose client takes no answer. The process of such a client stands still in the middle of a claim: the server ends no session
// that writes to its client, but over TCP, so that no other replica could let a run start, or declare that one dead. Nothing that such
// a session did is committed. It returns their process ids.
func (s *Store) EndFrozenSessions(ctx context.Context, limit time.Duration) ([]int32, error) {
	return collect(ctx, s, "end frozen sessions", statement("end_frozen_sessions"), func(row pgx.CollectableRow) (int32, error) {
		var pid int32
		var sent bool
		if err := row.Scan(&pid, &sent); err != nil {
			return 0, fmt.Errorf("scan: %w", err)
		}
		return pid, nil
	}, seconds(limit))
}
