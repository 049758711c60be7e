package main

import (
	"runtime"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of the program and of its schema",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return out.write(cmd.OutOrStdout(), info, table{
				header: []string{"VERSION", "GO", "PLATFORM"},
				rows:   [][]string{{info.Version, info.Go, info.Platform}},
			})
		},
	}
	out.register(cmd.Flags())
	return cmd
}
