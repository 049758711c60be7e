//go:build !unix

package commands

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

// servable refuses a replica where none was tried: how one stops, and what becomes of its output, is Unix's.
func servable() error {
	return errors.New("a replica runs on Linux and macOS; on this system use the other commands, with --database-url, " +
		"or a Linux below it (WSL, a container)")
}

func newDev(cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:                "dev",
		Short:              "Run everything on a private PostgreSQL, for trying out (Linux and macOS)",
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return servable() },
	}
}
