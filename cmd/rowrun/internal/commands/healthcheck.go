package commands

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/health"
)

func newHealthcheck(cli.Environment) *cobra.Command {
	var addr string
	var live bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask the replica beside it whether it is ready: for probes of a container",
		Long: "Asks /readyz of the replica on this machine: exit code 0 where it takes work, 1 where it doesn't or nobody answers;\n" +
			"what is wrong is said. With --live it asks /livez, which is about the process alone: for whoever restarts it. It needs\n" +
			"no shell, no curl and no database. The address is that of serve, flag or ROWRUN_HTTP_ADDR.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, _, err := net.SplitHostPort(addr); err != nil {
				return cli.Usagef("--http-addr: %q is not accepted; accepted: host:port such as 127.0.0.1:8484, as serve has it", addr)
			}
			if timeout <= 0 {
				return cli.Usagef("--timeout: %s is not accepted; accepted: a duration above 0", timeout)
			}
			path := health.Ready
			if live {
				path = health.Live
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			if err := health.Ask(ctx, addr, path); err != nil {
				return fmt.Errorf("not healthy: %w", err)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "ok")
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&addr, "http-addr", "127.0.0.1:8484", "`host:port` that serve listens on")
	flags.BoolVar(&live, "live", false, "ask whether the process works, not whether it takes work")
	flags.DurationVar(&timeout, "timeout", 3*time.Second, "how long to wait for the answer")
	return cmd
}
