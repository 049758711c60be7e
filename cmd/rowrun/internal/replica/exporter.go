package replica

import (
	"context"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/metrics"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

// ExporterConfig is what a process is told that serves metrics and nothing else.
type ExporterConfig struct {
	Database database.Config
	Log      cli.LogConfig
	Version  string
	HTTPAddr string
}

// Register adds the flags of `rowrun exporter`.
func (c *ExporterConfig) Register(flags *pflag.FlagSet) {
	c.Database.Register(flags)
	c.Log.Register(flags)
	flags.StringVar(&c.HTTPAddr, "http-addr", "127.0.0.1:8484", "`host:port` of /metrics, /livez and /readyz")
}

// Validate completes what was left open and refuses what can't work.
func (c *ExporterConfig) Validate(lookup func(string) (string, bool)) error {
	if err := c.Database.Resolve(lookup); err != nil {
		return err
	}
	if !listenable(c.HTTPAddr) {
		return cli.Usagef("--http-addr: %q is not accepted; accepted: host:port such as 127.0.0.1:8484", c.HTTPAddr)
	}
	return nil
}

// ServeMetrics serves what the database tells of the deployment until ctx ends. A database that can't be reached is waited
// for: its metrics need the deployment's identity.
func ServeMetrics(ctx context.Context, c *ExporterConfig, log zerolog.Logger) error {
	return behindDoor(ctx, c.HTTPAddr, c.Database.URL, log, func(ctx context.Context, d *door) error { return showMetrics(ctx, c, d, log) })
}

// showMetrics is ServeMetrics behind its door.
func showMetrics(ctx context.Context, c *ExporterConfig, d *door, log zerolog.Logger) error {
	opened, deployment, err := c.Database.Open(ctx, store.Config{MaxConns: 2}, log)
	if err != nil {
		return cli.Stopped(ctx, err)
	}
	defer opened.Close()
	handler, err := metrics.Outside(metrics.Config{Store: opened, Deployment: deployment, Version: c.Version, Log: log})
	if err != nil {
		return err
	}
	config := server.Config{
		Checks:  []server.Check{{Name: "schema", Ask: func(ctx context.Context) error { return connect.CheckSchema(ctx, opened) }}},
		Metrics: handler, Log: log,
	}
	surface, err := server.NewSurface(config, d.front.Guard(config))
	if err != nil {
		return err
	}
	d.front.Serve(surface)
	parts, around := errgroup.WithContext(ctx)
	for _, p := range []part{surface, d} {
		parts.Go(func() error { return p.Run(around) })
	}
	return parts.Wait()
}
