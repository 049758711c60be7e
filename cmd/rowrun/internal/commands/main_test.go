package commands

import (
	"context"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/scheduler/cmdexec"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) {
	cmdexec.MaybeSupervise()
	maybeBench()
	storetest.Main(m)
}

// run executes one command line of these commands and returns its exit code.
func run(ctx context.Context, args []string, env cli.Environment) int {
	env.Version = "dev"
	root := cli.Group(&cobra.Command{Use: "rowrun"})
	root.AddCommand(All(env)...)
	return cli.Execute(ctx, root, args, env)
}

// rowrun runs one command line in this process, with these variables only.
func rowrun(ctx context.Context, t *testing.T, variables map[string]string, args ...string) rowruntest.Outcome {
	t.Helper()
	return rowruntest.Run(ctx, t, run, variables, args...)
}
