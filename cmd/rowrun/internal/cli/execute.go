package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Environment is what a command sees of the process around it, so that tests
// can run commands side by side.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Lookup         func(name string) (string, bool)
	Environ        func() []string // all variables, NAME=value; nil: nobody asks which there are
	Version        string          // of the program
}

// Execute runs one command line of root and returns its exit code. Flags are read from variables as well, and wrong use
// is said in the words of this program.
func Execute(ctx context.Context, root *cobra.Command, args []string, env Environment) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := ApplyEnvironment(cmd, env.Lookup); err != nil {
			return err
		}
		warnOfVariables(cmd, env)
		return nil
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, err) })
	root.SetArgs(args)
	checkHelp(root)
	cmd, err := root.ExecuteContextC(ctx)
	if isPlugIn(cmd, args) {
		return plugInCode(err, env.Stdout)
	}
	return exitCode(ctx, err, env.Stderr)
}

// exitCode tells what a command's error means to whoever called it.
func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	if err == nil {
		return ExitDone
	}
	var wrong *UsageError
	if errors.As(err, &wrong) {
		_, _ = fmt.Fprintf(stderr, "rowrun: %s\n", printableLines(err.Error()))
		return ExitUsage
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		_, _ = fmt.Fprintln(stderr, "rowrun: interrupted")
		return ExitFailed
	}
	_, _ = fmt.Fprintf(stderr, "rowrun: %s\n", printableLines(err.Error()))
	return ExitFailed
}
