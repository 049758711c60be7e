package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// environment is what a command sees of the process around it, so that tests
// can run commands side by side.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookup         func(name string) (string, bool)
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, env environment) int {
	root := newRoot(env)
	root.SetArgs(args)
	return exitCode(ctx, root.ExecuteContext(ctx), env.stderr)
}

// exitCode tells what a command's error means to whoever called it.
func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	if err == nil {
		return exitDone
	}
	var wrong *usageError
	if errors.As(err, &wrong) {
		_, _ = fmt.Fprintf(stderr, "rowrun: %s\n", printableLines(err.Error()))
		return exitUsage
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		_, _ = fmt.Fprintln(stderr, "rowrun: interrupted")
		return exitFailed
	}
	_, _ = fmt.Fprintf(stderr, "rowrun: %s\n", printableLines(err.Error()))
	return exitFailed
}

func newRoot(env environment) *cobra.Command {
	root := group(&cobra.Command{
		Use:   "rowrun",
		Short: "Rowrun runs the rows of rowrun.task_run: a sidecar for PostgreSQL",
		Long: "Rowrun is a sidecar for PostgreSQL: insert a row into rowrun.task_run, and one healthy replica runs it.\n\n" +
			"Every flag has an environment variable: --stale-after is ROWRUN_STALE_AFTER. A flag wins over its\n" +
			"variable, a variable over the default; an empty variable counts as not set.",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return applyEnvironment(cmd.Flags(), env.lookup)
		},
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, err) })
	root.AddCommand(
		newServe(env),
		newMigrate(env),
		newStream(env),
		newDev(env),
		newPlan(env),
		newTask(env),
		newType(env),
		newReplicaCommand(env),
		newSchedule(env),
		newWebhook(env),
		newRun(env),
		newStatus(env),
		newDoctor(env),
		newBench(env),
		newVersion(),
	)
	return root
}

// group makes a command that only holds others: by itself it is wrong use.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		text := fmt.Sprintf("unknown command %q; accepted after %q: %s", args[0], cmd.CommandPath(), subcommands(cmd))
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			text += "; did you mean " + near[0] + "?"
		}
		return usagef("%s", text)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return usagef("a command is missing; accepted after %q: %s (see %s --help)",
			cmd.CommandPath(), subcommands(cmd), cmd.CommandPath())
	}
	return cmd
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

// arguments accepts as many arguments as there are names; a name in brackets
// may be left out.
func arguments(names ...string) cobra.PositionalArgs {
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
		return usagef("%s: %d arguments given; accepted: %s", cmd.CommandPath(), len(args), accepted)
	}
}
