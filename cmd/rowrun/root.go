package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/commands"
)

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, env cli.Environment) int {
	return cli.Execute(ctx, newRoot(env), args, env)
}

// newRoot is the command above all others.
func newRoot(env cli.Environment) *cobra.Command {
	root := cli.Group(&cobra.Command{
		Use:   "rowrun",
		Short: "Rowrun runs the rows of rowrun.task_run: a sidecar for PostgreSQL",
		Long: "Rowrun is a sidecar for PostgreSQL: insert a row into rowrun.task_run, and one healthy replica runs it.\n\n" +
			"Every flag has an environment variable: --stale-after is ROWRUN_STALE_AFTER. A flag wins over its\n" +
			"variable, a variable over the default; an empty variable counts as not set.",
		Version: env.Version,
	})
	root.AddCommand(commands.All(env)...)
	return root
}
