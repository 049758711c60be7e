//go:build unix

package commands

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/dev"
)

func newDev(env cli.Environment) *cobra.Command {
	var config dev.Config
	var dsnOnly bool
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on a private PostgreSQL, for trying out",
		Long: "Starts a private PostgreSQL from the server binaries of this machine, with its data in --dir, brings the\n" +
			"schema up to date, and serves with the stream on standard output. It prints a psql line that leads there.\n" +
			"Stopped and started again it goes on with its data, but for --fresh. Webhooks may call this machine. The other\n" +
			"flags are those of serve. For scripts, beside one that runs: export DATABASE_URL=\"$(rowrun dev --dsn-only)\"",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dsnOnly {
				return printDSN(cmd.OutOrStdout(), config.Dir)
			}
			config.Version = env.Version
			if !cmd.Flags().Changed("log-format") && cli.IsTerminal(cmd.OutOrStdout()) {
				config.Log.Format = "console"
			}
			if !cmd.Flags().Changed("http-addr") {
				config.HTTPAddr = dev.FreeAddr(cmd.Context(), config.HTTPAddr)
			}
			return dev.Run(cmd.Context(), &config, env, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.Dir, "dir", ".rowrun", "`directory` of the cluster")
	flags.BoolVar(&config.Sample, "sample", false, "at the first start make and run a plan to look at, with a database and an app of its own")
	flags.BoolVar(&config.Fresh, "fresh", false, "remove what --dir holds and begin anew")
	flags.BoolVar(&dsnOnly, "dsn-only", false, "print how to connect to the PostgreSQL of the rowrun dev that has --dir, and end")
	served := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	config.Register(served)
	served.VisitAll(func(flag *pflag.Flag) {
		switch flag.Name {
		case "database-url", "direct-url", "migrate": // dev's own to say
		default:
			flags.AddFlag(flag)
		}
	})
	return cmd
}

func printDSN(w io.Writer, dir string) error {
	dsn, err := dev.DSN(dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, dsn)
	return err
}
