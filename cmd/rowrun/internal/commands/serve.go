package commands

import (
	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
)

func newServe(env cli.Environment) *cobra.Command {
	var config replica.Config
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run tasks until SIGTERM: one replica of the deployment",
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := servable(); err != nil {
				return err
			}
			config.Version = env.Version
			if err := config.Validate(env.Lookup); err != nil {
				return err
			}
			log := config.Log.ForPerson(cmd)
			if !cmd.Flags().Changed("log-format") && cli.IsTerminal(cmd.OutOrStdout()) {
				config.Log.Format = "console" // of the stream
			}
			return replica.Serve(cmd.Context(), &config, cmd.OutOrStdout(), log)
		},
	}
	config.Register(cmd.Flags())
	config.RegisterShards(cmd.Flags())
	return cmd
}
