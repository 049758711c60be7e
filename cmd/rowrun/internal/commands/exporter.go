package commands

import (
	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
)

func newExporter(env cli.Environment) *cobra.Command {
	var config replica.ExporterConfig
	cmd := &cobra.Command{
		Use:   "exporter",
		Short: "Serve the deployment's metrics and nothing else, as a role that only reads",
		Long: "Serves /metrics with what the database tells of the deployment (rowrun_store_…), /livez and /readyz until SIGTERM. It writes\n" +
			"nothing, is no replica, and needs a login that is a member of rowrun_viewer: alerts see a deployment in which no replica\n" +
			"lives. Where lost runs are to be settled there too, run `rowrun serve --role admin`, which serves the same and more.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config.Version = env.Version
			if err := config.Validate(env.Lookup); err != nil {
				return err
			}
			return replica.ServeMetrics(cmd.Context(), &config, config.Log.ForPerson(cmd))
		},
	}
	config.Register(cmd.Flags())
	return cmd
}
