package replica

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/systemd"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
)

// Serve binds the HTTP address, waits for the database, looks whether everything
// is as a replica needs it, and runs one until ctx ends. The stream goes to out.
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
	if len(c.Shards) > 0 {
		return serveShards(ctx, c, out, log)
	}
	return serveWith(ctx, c, executors, out, log)
}

// serveWith is serve with these executors; those of SQL are added to them.
func serveWith(ctx context.Context, c *Config, executors *executors, out io.Writer, log zerolog.Logger) error {
	traces, err := newTracer(ctx, c, log)
	if err != nil {
		return err
	}
	if traces != nil {
		defer traces.Close() // after the drain
	}
	return behindDoor(ctx, c.HTTPAddr, c.Database.URL, log, func(ctx context.Context, d *door) error {
		of := &process{output: stream.NewOutput(out, 0), color: cli.InColor(out), traces: traces, door: d}
		_, err := serveOne(ctx, c, executors, of, log)
		return err
	})
}

// serveOne is serveWith in a process that has these. began: there was a replica.
func serveOne(ctx context.Context, c *Config, executors *executors, of *process, log zerolog.Logger) (began bool, err error) {
	if c.lookup != nil && of.shard == "" {
		systemd.Say(c.lookup, "waiting for the database")
	}
	if err := c.Database.FindPooler(ctx, log); err != nil {
		return false, cli.Stopped(ctx, err)
	}
	if c.Migrate {
		if _, err := migrations.Up(ctx, migrations.Config{URL: c.Database.DirectURL, Log: log}); err != nil {
			return false, cli.Stopped(ctx, err)
		}
	}
	opened, deployment, err := c.Database.Open(ctx, store.Config{MaxConns: c.DatabaseConns, Lease: c.StaleAfter}, log)
	if err != nil {
		return false, cli.Stopped(ctx, err)
	}
	defer closeSoon(opened.Close)
	if err := executors.addSQL(c, deployment, log); err != nil {
		return false, err
	}
	r, err := newReplica(c, opened, deployment, executors, of, log)
	if err != nil {
		return false, err
	}
	defer of.serve(r)()
	return true, r.Run(ctx)
}
