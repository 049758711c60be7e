package main

import (
	"context"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/commands"
)

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, env cli.Environment) int {
	return cli.Execute(ctx, commands.Root(env), args, env)
}
