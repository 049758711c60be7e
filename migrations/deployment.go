package migrations

import (
	"context"
	"errors"
	"fmt"
)

// Renewed is a deployment that was told where it belongs.
type Renewed struct {
	ID string // its uuid
	// Unfinished runs are PENDING, AVAILABLE or RUNNING, Messages of webhooks are to be delivered: a replica comes to them. Schedules are
	// those that make another run when theirs is canceled.
	Unfinished, Messages, Schedules int64
}

// errAlive keeps the identity of a deployment whose replicas go on with the one that they know.
var errAlive = errors.New("replicas of this deployment are alive and would go on with the old identity: stop them, or wait until their leases are over")

// Renew says that the deployment belongs to this server and database. With copied it becomes another deployment than
// its origin, with an identity, a ledger and a slot of its own; otherwise it stays what it was, and has moved.
func Renew(ctx context.Context, config Config, copied bool) (renewed Renewed, err error) {
	err = locked(ctx, config, "migrate deployment", func(ctx context.Context, s *session) error {
		current, err := s.settle(ctx)
		if err != nil {
			return err
		}
		if current < s.files.latest() {
			return fmt.Errorf("the schema is at version %d of %d: run `rowrun migrate up` first", current, s.files.latest())
		}
		if has, err := s.codeVersion(ctx); err != nil || has.Hash == "" {
			return errors.Join(err, errors.New("the schema has no code: run `rowrun migrate up` first"))
		}
		// Who was alive in the origin is no replica of the copy's.
		const alive = `SELECT NOT rowrun.deployment_elsewhere() AND EXISTS (
    SELECT FROM rowrun.replica_heartbeat h WHERE h.state <> 'DEAD' AND h.last_heartbeat + h.lease > clock_timestamp())`
		const renew = `SELECT rowrun.renew_deployment($1)::text,
       (SELECT count(*) FROM rowrun.task_run r WHERE r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')),
       (SELECT count(*) FROM rowrun.webhook_delivery d WHERE d.status = 'PENDING'),
       (SELECT count(*) FROM rowrun.task k WHERE k.schedule <> '-' AND NOT k.paused)`
		var busy bool
		if copied {
			if err := s.conn.QueryRow(ctx, alive).Scan(&busy); err != nil {
				return fmt.Errorf("look for replicas: %w", err)
			}
		}
		if busy {
			return errAlive
		}
		return s.conn.QueryRow(ctx, renew, copied).Scan(&renewed.ID, &renewed.Unfinished, &renewed.Messages, &renewed.Schedules)
	})
	return renewed, err
}
