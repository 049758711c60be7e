package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/events"
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
	executors, err := newExecutors(c)
	if err != nil {
		return err
	}
	defer executors.close()
	if err := reach(ctx, c, log); err != nil {
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
	if err := checkSchema(ctx, opened); err != nil {
		return stopped(ctx, err)
	}
	deployment, err := opened.Deployment(ctx)
	if err != nil {
		return stopped(ctx, err)
	}
	if err := executors.addSQL(c, deployment, log); err != nil {
		return err
	}
	r, err := newReplica(c, opened, executors, out, log)
	if err != nil {
		return err
	}
	return r.Run(ctx)
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

// reach waits for the database on every way that a replica uses, and refuses
// one on which notifications don't arrive.
func reach(ctx context.Context, c *serveConfig, log zerolog.Logger) error {
	if err := waitForDatabase(ctx, c.Database.URL, c.Database.source, 0, log); err != nil {
		return err
	}
	if c.Database.pooled() {
		if err := waitForDatabase(ctx, c.Database.DirectURL, "--direct-url", 0, log); err != nil {
			return err
		}
	}
	config, err := pgx.ParseConfig(c.Database.DirectURL)
	if err != nil {
		return errors.New("not a connection string") // validate has parsed it before
	}
	return probe(ctx, config, c.Database.DirectURL)
}

// probe refuses a way to the database on which notifications don't arrive.
func probe(ctx context.Context, config *pgx.ConnConfig, url string) error {
	err := events.ProbeListen(ctx, config)
	if errors.Is(err, events.ErrNoNotify) {
		return fmt.Errorf("%s: notifications do not arrive there, it is most likely a pooler in transaction mode: "+
			"set --direct-url to the server itself", place(url))
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: listen: %s", place(url), diagnose(err).text)
	}
	return err
}
