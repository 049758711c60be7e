package connect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store/session"
)

const (
	// tryTimeout bounds one try to reach the database, and one question of a start.
	tryTimeout = 5 * time.Second
	maxPause   = 3 * time.Second

	minServerVersion = 150000
)

// Wait returns once url leads to a primary of PostgreSQL 15 or
// later. It waits for a database that isn't up yet, for at most patience (0:
// as long as ctx lasts), and says so once per cause. What waiting can't mend
// is an error that says what to do.
func Wait(ctx context.Context, url, source string, patience time.Duration, log zerolog.Logger) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval = 100 * time.Millisecond
	pause.MaxInterval = maxPause
	start, said := time.Now(), ""
	for {
		try, cancel := ctx, context.CancelFunc(func() {})
		if patience > 0 {
			try, cancel = context.WithDeadline(ctx, start.Add(patience))
		}
		err := Try(try, url)
		cut := try.Err() != nil
		cancel()
		if err == nil {
			if said != "" {
				log.Info().Str("database", Place(url)).Msg("database reached")
			}
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		trouble := Diagnose(err)
		if !trouble.Wait {
			return fmt.Errorf("%s (%s): %s", Place(url), source, trouble.Text)
		}
		next := pause.NextBackOff()
		if patience > 0 && time.Since(start)+next >= patience {
			text := trouble.Text
			if cut && said != "" { // the try had only what was left of the patience, and says nothing
				text = said
			}
			return fmt.Errorf("%s (%s): gave up after %s: %s", Place(url), source, patience, text)
		}
		if trouble.Text != said {
			said = trouble.Text
			log.Warn().Str("database", Place(url)).Str("cause", trouble.Text).Msg("database not reachable yet, waiting for it")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(next):
		}
	}
}

var (
	errStandby   = errors.New("server is a standby")
	errOldServer = errors.New("server is too old")
	// ErrAway means that the database went away between one step of a start and the next.
	ErrAway = errors.New("the database is away")
)

// Try makes one connection and looks at the server behind it.
func Try(ctx context.Context, url string) error {
	var number int
	var standby bool
	// This comes before anybody has looked at the server. A standby has no snapshot for SERIALIZABLE, which may be the default.
	err := ask(ctx, url, "SELECT pg_catalog.current_setting('server_version_num')::int, pg_catalog.pg_is_in_recovery()", &number, &standby)
	switch {
	case err != nil:
		return err
	case number < minServerVersion:
		return fmt.Errorf("%w: version number %d", errOldServer, number)
	case standby:
		return errStandby
	}
	return nil
}

// ask makes one connection for one question, which has one row. It is unprepared, and sets nothing in the session: there may be a pooler in between.
func ask(ctx context.Context, url, question string, answers ...any) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	config, err := Parse(url)
	if err != nil {
		return err
	}
	session.Encode(config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer Close(ctx, conn)
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: session.Begin(pgx.TxOptions{})}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, question, pgx.QueryExecModeExec).Scan(answers...)
	})
}

// Close ends a connection within a second, also where ctx is over.
func Close(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // a connection that won't say goodbye is dropped
}
