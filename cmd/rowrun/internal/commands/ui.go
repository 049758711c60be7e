package commands

import (
	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
)

func newUI(env cli.Environment) *cobra.Command {
	var config replica.UIConfig
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Show the dashboard in a browser: a process that runs nothing",
		Long: "Serves the dashboard and its API until it is stopped, and runs nothing. Any role of Rowrun's will do; what it may\n" +
			"not do is not offered: acting needs a member of rowrun_operator. The address that is printed holds a token to act\n" +
			"with, drawn for this process, unless --http-operator-token names others.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config.Version = env.Version
			if err := config.Validate(env.Lookup); err != nil {
				return err
			}
			return replica.ServeUI(cmd.Context(), &config, cmd.OutOrStdout(), config.Log.ForPerson(cmd))
		},
	}
	config.Register(cmd.Flags())
	return cmd
}
