package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ApplyEnvironment sets each flag of a command that the command line left alone from its variable. An empty variable counts
// as not set, as orchestrators often can't leave one out.
func ApplyEnvironment(cmd *cobra.Command, lookup func(string) (string, bool)) error {
	var failed error
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if failed != nil || flag.Changed || flag.Name == "help" || flag.Name == "version" {
			return
		}
		name := variable(cmd, flag)
		value, ok := lookup(name)
		if !ok || value == "" {
			return
		}
		if err := cmd.Flags().Set(flag.Name, value); err != nil {
			failed = badValue(name, flag, value)
		}
	})
	return failed
}

// variable is the environment variable of a flag. A setting, which serve or status has too, is ROWRUN_ and the flag's name,
// and so is a flag of a command of one word. One of a command of two words has these in it, as in
// ROWRUN_WEBHOOK_CREATE_FORMAT: what says which rows to show, or what to write into one, is no other command's.
func variable(cmd *cobra.Command, flag *pflag.Flag) string {
	name := flag.Name
	_, words, _ := strings.Cut(cmd.CommandPath(), " ") // behind the program's name
	if strings.Contains(words, " ") && cmd.InheritedFlags().Lookup(name) != flag && !isSetting(cmd.Root(), name) {
		name = words + " " + name
	}
	return "ROWRUN_" + strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(name))
}

func isSetting(root *cobra.Command, name string) bool {
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool {
		return (c.Name() == "serve" || c.Name() == "status") && c.Flags().Lookup(name) != nil
	})
}

// VisitVariables calls visit with the variable of each flag of each command below root.
func VisitVariables(root *cobra.Command, visit func(name string, cmd *cobra.Command, flag *pflag.Flag)) {
	root.LocalFlags().VisitAll(func(flag *pflag.Flag) { visit(variable(root, flag), root, flag) })
	for _, sub := range root.Commands() {
		VisitVariables(sub, visit)
	}
}
