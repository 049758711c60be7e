package events

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/store/session"
)

// probeTimeout is how long a notification may take from one connection to the
// other, and each step of the probe.
const probeTimeout = 3 * time.Second

// ErrNoNotify means that a notification sent on one connection did not arrive
// on another one that listens: what is behind the address is most likely a
// transaction pooler.
var ErrNoNotify = errors.New("notifications do not arrive on this connection")

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
	if err := exec(ctx, speaks, "notify "+channel); err != nil {
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
