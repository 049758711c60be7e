package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// handOverLock is how long HandOver waits for a row that somebody holds.
const handOverLock = 100 * time.Millisecond

// HandOver leaves a RUNNING run to the app: no replica holds it any more. False: it had ended or belongs to somebody
// else. A row that somebody holds is waited for as long as handOverLock: SQLSTATE 55P03, nothing is changed, and the caller
// tries again.
func (s *Store) HandOver(ctx context.Context, id int64, claim string) (handed bool, err error) {
	b := &pgx.Batch{}
	b.Queue(`SELECT set_config('lock_timeout', $1, true)`, milliseconds(handOverLock))
	b.Queue(statement("hand_over_run"), id, claim).Exec(func(tag pgconn.CommandTag) error {
		handed = tag.RowsAffected() == 1
		return nil
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return false, fmt.Errorf("hand over run: %w", err)
	}
	return handed, nil
}
