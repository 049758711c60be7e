package commands

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

func newCompletion() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "completion",
		Short: "Print a script that has a shell complete commands, flags, names and ids",
		Long: "Print a script that has a shell complete commands, flags and their values, and names and ids of plans, tasks, runs,\n" +
			"webhooks, replicas, types and queues from the database, if that answers within a second and a half.",
	})
	for _, shell := range []struct{ name, load string }{
		{"bash", "source <(rowrun completion bash)        # now; it wants the package bash-completion\nrowrun completion bash > /etc/bash_completion.d/rowrun"},
		{"zsh", "source <(rowrun completion zsh)         # now, after compinit\nrowrun completion zsh > \"${fpath[1]}/_rowrun\""},
		{"fish", "rowrun completion fish | source         # now\nrowrun completion fish > ~/.config/fish/completions/rowrun.fish"},
	} {
		cmd.AddCommand(&cobra.Command{
			Use:     shell.name,
			Short:   "Print the script for " + shell.name,
			Example: shell.load,
			Args:    cli.Arguments(),
			RunE: func(cmd *cobra.Command, _ []string) error {
				if err := writeCompletion(cmd, shell.name); err != nil {
					return fmt.Errorf("write output: %w", err)
				}
				return nil
			},
		})
	}
	return cmd
}

func writeCompletion(cmd *cobra.Command, shell string) error {
	root, out := cmd.Root(), cmd.OutOrStdout()
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(out, true)
	case "zsh":
		return root.GenZshCompletion(out)
	default:
		return root.GenFishCompletion(out, true)
	}
}
