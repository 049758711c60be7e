package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
)

// Serve waits for the database, looks whether everything is as a replica needs
// it, and runs one until ctx ends. The stream goes to out.
func Serve(ctx context.Context, c *Config, out io.Writer, log zerolog.Logger) error {
	// A write to a pipe that nobody reads any more fails instead of killing this process. It isn't ignored, as commands
	// that are run would inherit that.
	closed := make(chan os.Signal, 1)
	signal.Notify(closed, syscall.SIGPIPE)
	defer signal.Stop(closed)
	executors, err := newExecutors(c)
	if err != nil {
		return err
	}
	defer executors.close()
	return serveWith(ctx, c, executors, out, log)
}

// serveWith is serve with these executors; those of SQL are added to them.
func serveWith(ctx context.Context, c *Config, executors *executors, out io.Writer, log zerolog.Logger) error {
	if err := outlast(ctx, c, log, func() error { return c.Database.FindPooler(ctx) }); err != nil {
		return cli.Stopped(ctx, err)
	}
	if c.Migrate {
		if _, err := migrations.Up(ctx, migrations.Config{URL: c.Database.DirectURL, Log: log}); err != nil {
			return cli.Stopped(ctx, err)
		}
	}
	opened, err := store.Open(ctx, store.Config{
		URL:      c.Database.URL,
		MaxConns: c.DatabaseConns,
		Lease:    c.StaleAfter,
		Pooled:   c.Database.Pooled(),
	})
	if err != nil {
		return err
	}
	defer opened.Close()
	var deployment string
	err = outlast(ctx, c, log, func() (err error) {
		if err := database.CheckSchema(ctx, opened); err != nil {
			return err
		}
		if deployment, err = opened.Deployment(ctx); err != nil && database.Diagnose(err).Wait {
			err = fmt.Errorf("%w: %w", database.ErrAway, err)
		}
		return err
	})
	if err != nil {
		return cli.Stopped(ctx, err)
	}
	database.WarnOfCode(ctx, opened, log)
	tryConnections(ctx, opened, log)
	if err := executors.addSQL(c, deployment, log); err != nil {
		return err
	}
	traces, err := newTracer(ctx, c, log)
	if err != nil {
		return err
	}
	if traces != nil {
		defer traces.Close() // after the drain
	}
	r, err := newReplica(c, opened, deployment, executors, traces, out, log)
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// tryConnections says so where the replica gets fewer connections than it works with: it lives, and may be unable to claim.
func tryConnections(ctx context.Context, s *store.Store, log zerolog.Logger) {
	ask, cancel := context.WithTimeout(ctx, database.ConnectTimeout)
	defer cancel()
	if err := s.Fill(ask); err != nil && ctx.Err() == nil {
		log.Warn().Str("cause", store.Reason(err)).Msg("not all connections that a replica needs can be opened: look at CONNECTION LIMIT of role and database, and at max_connections")
	}
}

// outlast asks when the database is reached, on every way that a replica uses,
// and again where it went away in the midst of it.
func outlast(ctx context.Context, c *Config, log zerolog.Logger, ask func() error) error {
	for {
		if err := database.Wait(ctx, c.Database.URL, c.Database.Source, 0, log); err != nil {
			return err
		}
		if c.Database.DirectURL != c.Database.URL {
			if err := database.Wait(ctx, c.Database.DirectURL, "--direct-url", 0, log); err != nil {
				return err
			}
		}
		err := ask()
		if !errors.Is(err, database.ErrAway) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}
