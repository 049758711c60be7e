package main

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
	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
)

func newServe(env environment) *cobra.Command {
	var config serveConfig
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run tasks until SIGTERM: one replica of the deployment",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.validate(env.lookup); err != nil {
				return err
			}
			return serve(cmd.Context(), &config, cmd.OutOrStdout(), config.Log.logger(cmd.ErrOrStderr()))
		},
	}
	config.register(cmd.Flags())
	return cmd
}

// serve waits for the database, looks whether everything is as a replica needs
// it, and runs one until ctx ends. The stream goes to out.
func serve(ctx context.Context, c *serveConfig, out io.Writer, log zerolog.Logger) error {
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
func serveWith(ctx context.Context, c *serveConfig, executors *executors, out io.Writer, log zerolog.Logger) error {
	if err := outlast(ctx, c, log, func() error { return c.Database.findPooler(ctx) }); err != nil {
		return stopped(ctx, err)
	}
	if c.Migrate {
		if _, err := migrations.Up(ctx, migrations.Config{URL: c.Database.DirectURL, Log: log}); err != nil {
			return stopped(ctx, err)
		}
	}
	opened, err := store.Open(ctx, store.Config{
		URL:      c.Database.URL,
		MaxConns: c.DatabaseConns,
		Lease:    c.StaleAfter,
		Pooled:   c.Database.pooled(),
	})
	if err != nil {
		return err
	}
	defer opened.Close()
	var deployment string
	err = outlast(ctx, c, log, func() (err error) {
		if err := checkSchema(ctx, opened); err != nil {
			return err
		}
		if deployment, err = opened.Deployment(ctx); err != nil && diagnose(err).wait {
			err = fmt.Errorf("%w: %w", errAway, err)
		}
		return err
	})
	if err != nil {
		return stopped(ctx, err)
	}
	warnOfCode(ctx, opened, log)
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
	ask, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := s.Fill(ask); err != nil && ctx.Err() == nil {
		log.Warn().Str("cause", store.Reason(err)).Msg("not all connections that a replica needs can be opened: look at CONNECTION LIMIT of role and database, and at max_connections")
	}
}

// stopped makes an asked-for stop before the start was over a clean one.
func stopped(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// outlast asks when the database is reached, on every way that a replica uses,
// and again where it went away in the midst of it.
func outlast(ctx context.Context, c *serveConfig, log zerolog.Logger, ask func() error) error {
	for {
		if err := waitForDatabase(ctx, c.Database.URL, c.Database.source, 0, log); err != nil {
			return err
		}
		if c.Database.DirectURL != c.Database.URL {
			if err := waitForDatabase(ctx, c.Database.DirectURL, "--direct-url", 0, log); err != nil {
				return err
			}
		}
		err := ask()
		if !errors.Is(err, errAway) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}
