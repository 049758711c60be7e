package events

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowrun/rowrun/store/session"
)

// probeTimeout is how long a notification may take from one connection to the
// other, and each step of the probe.
const probeTimeout = 3 * time.Second

// ErrNoNotify means that a notification sent on one connection did not arrive
// on another one that listens: what is behind the address is most likely a
// transaction pooler.
var ErrNoNotify = errors.New("notifications do not arrive on this connection")

// ErrQueueFull means that the server's queue of notifications is too full to begin listening.
var ErrQueueFull = errors.New("the server's notification queue is too full to begin listening")

// most of the queue of notifications that may be filled where a session begins to listen. LISTEN reads all of it where no
// other session of the database is further: 8 GB at most, and no timeout and no closed connection ends that, so that each
// try would leave a session of the server busy.
const mostQueued = 0.05

// roomToListen asks how full the queue is, which also frees what every listener has read.
func roomToListen(ctx context.Context, l *link, most float64) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var queued float64
	err := l.conn.QueryRow(ctx, "select pg_catalog.pg_notification_queue_usage()", pgx.QueryExecModeExec).Scan(&queued)
	if err != nil {
		return fmt.Errorf("ask how full the notification queue is: %w", err)
	}
	if queued > most {
		return fmt.Errorf("%w: %.0f %%, a session that listens in a long transaction holds it", ErrQueueFull, math.Ceil(queued*100))
	}
	return nil
}

// ProbeListen proves that notifications arrive on connections made with config:
// it listens on one, to a channel of its own, and notifies on another. The
// answer is nil within some milliseconds, or ErrNoNotify after 3 s. Any other
// error means that the question could not be asked: not connected, refused, ctx over.
func ProbeListen(ctx context.Context, config *pgx.ConnConfig) error {
	config = config.Copy()
	session.Encode(config)
	hears, err := dial(ctx, config, probeTimeout)
	if err != nil {
		return fmt.Errorf("probe notifications: %w", err)
	}
	defer hears.close()
	if err := roomToListen(ctx, hears, mostQueued); err != nil {
		return fmt.Errorf("probe notifications: %w", err)
	}
	return probe(ctx, config, hears)
}

// probe asks it of one connection. Two are needed: a pooler hands what a server
// connection is told to the client that happens to use it, so that whoever
// notifies itself may hear that.
func probe(ctx context.Context, config *pgx.ConnConfig, hears *link) error {
	channel := pgx.Identifier{"rowrun_probe_" + rand.Text()}.Sanitize()
	if err := exec(ctx, hears, "listen "+channel); err != nil {
		return fmt.Errorf("probe notifications: listen: %w", err)
	}
	// A pooler's server connection would go on listening for the next client.
	defer func() { _ = exec(context.WithoutCancel(ctx), hears, "unlisten "+channel) }()

	config = config.Copy()
	config.RuntimeParams["application_name"] = "rowrun probe"
	speaks, err := dial(ctx, config, probeTimeout)
	if err != nil {
		return fmt.Errorf("probe notifications: second connection: %w", err)
	}
	defer speaks.close()
	err = exec(ctx, speaks, "notify "+channel)
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok && refusal.Code == tooManyNotifications {
		err = ErrQueueFull
	}
	if err != nil {
		return fmt.Errorf("probe notifications: notify: %w", err)
	}

	wait, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err = hears.conn.WaitForNotification(wait)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("probe notifications: %w", ctx.Err())
	case wait.Err() != nil:
		return ErrNoNotify
	}
	return fmt.Errorf("probe notifications: wait: %w", err)
}

// exec runs one statement without preparing it, as that may be what a pooler can't do.
func exec(ctx context.Context, l *link, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := l.conn.Exec(ctx, sql)
	return err
}
