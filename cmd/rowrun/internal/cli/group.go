package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Group makes a command that only holds others: by itself it is wrong use.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		text := fmt.Sprintf("unknown command %q; accepted after %q: %s", args[0], cmd.CommandPath(), subcommands(cmd))
		return Usagef("%s", text+meantCommand(cmd, args[0]))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return Usagef("a command is missing; accepted after %q: %s (see %s --help)",
			cmd.CommandPath(), subcommands(cmd), cmd.CommandPath())
	}
	return cmd
}

// checkHelp has help refuse words that are no command, as the same words without it are refused.
func checkHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" {
			continue
		}
		cmd.Args = func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil || len(rest) == 0 {
				return err
			}
			return found.ValidateArgs(rest)
		}
	}
}

func subcommands(cmd *cobra.Command) string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return strings.Join(names, ", ")
}

// Arguments accepts as many arguments as there are names; a name in brackets
// may be left out.
func Arguments(names ...string) cobra.PositionalArgs {
	least := 0
	for _, name := range names {
		if !strings.HasPrefix(name, "[") {
			least++
		}
	}
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= len(names) {
			return nil
		}
		accepted := "no arguments"
		if len(names) > 0 {
			accepted = strings.Join(names, " ")
		}
		return Usagef("%s: %d arguments given; accepted: %s", cmd.CommandPath(), len(args), accepted)
	}
}
