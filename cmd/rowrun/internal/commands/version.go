package commands

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

func newVersion(env cli.Environment) *cobra.Command {
	out := cli.Output{Lookup: env.Lookup}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of the program and of its schema",
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{env.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return out.Write(cmd, info, cli.Table{
				Columns: []cli.Column{cli.Whole("VERSION"), cli.Whole("GO"), cli.Whole("PLATFORM")},
				Rows:    [][]string{{info.Version, info.Go, info.Platform}},
			})
		},
	}
	out.Register(cmd.Flags())
	return cmd
}
