package commands

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/metrics"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

func newExporter(env cli.Environment) *cobra.Command {
	var way database.Config
	var logging cli.LogConfig
	var addr string
	cmd := &cobra.Command{
		Use:   "exporter",
		Short: "Serve the deployment's metrics and nothing else, as a role that only reads",
		Long: "Serves /metrics with what the database tells of the deployment (rowrun_store_…), /livez and /readyz until SIGTERM. It writes\n" +
			"nothing, is no replica, and needs a login that is a member of rowrun_viewer: alerts see a deployment in which no replica\n" +
			"lives. Where lost runs are to be settled there too, run `rowrun serve --role admin`, which serves the same and more.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := way.Resolve(env.Lookup); err != nil {
				return err
			}
			if err := replica.CheckHTTPAddr(addr); err != nil {
				return err
			}
			return export(cmd.Context(), &way, addr, env.Version, logging.ForPerson(cmd))
		},
	}
	way.Register(cmd.Flags())
	logging.Register(cmd.Flags())
	cmd.Flags().StringVar(&addr, "http-addr", "127.0.0.1:8484", "`host:port` of /metrics, /livez and /readyz")
	return cmd
}

// export serves until ctx ends. A database that can't be reached is waited for: its metrics need the deployment's identity.
func export(ctx context.Context, way *database.Config, addr, version string, log zerolog.Logger) error {
	opened, deployment, err := way.Open(ctx, store.Config{MaxConns: 2}, log)
	if err != nil {
		return cli.Stopped(ctx, err)
	}
	defer opened.Close()
	handler, err := metrics.Outside(metrics.Config{Store: opened, Deployment: deployment, Version: version, Log: log})
	if err != nil {
		return err
	}
	s, err := server.New(server.Config{
		Addr: addr, Metrics: handler, Log: log,
		Checks: []server.Check{{Name: "schema", Ask: func(ctx context.Context) error { return connect.CheckSchema(ctx, opened) }}},
	})
	if err != nil {
		return fmt.Errorf("--http-addr: %w", err)
	}
	return s.Run(ctx)
}
