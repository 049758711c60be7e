package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes of every command but for monitoring plug-ins.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// UsageError is a mistake in the command line, a variable or the file: the
// same call can't succeed before somebody changes it. Exit code 2.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }
func (e *UsageError) Unwrap() error { return e.err }

// Usagef is a UsageError with this text.
func Usagef(format string, args ...any) error {
	return &UsageError{err: fmt.Errorf(format, args...)}
}

// flagError turns what pflag says into a message that names the accepted form.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		return badValue("--"+value.GetFlag().Name, value.GetFlag(), value.GetValue())
	}
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) && missing.GetFlag() != nil {
		return Usagef("--%s: a value is missing; accepted: %s", missing.GetFlag().Name, accepted(missing.GetFlag()))
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		meant := ""
		if near := Nearest(unknown.GetSpecifiedName(), names); near != "" {
			meant = "; did you mean --" + near + "?"
		}
		return Usagef("%w; see %s --help for the accepted flags%s", err, cmd.CommandPath(), meant)
	}
	return Usagef("%w; see %s --help for the accepted flags", err, cmd.CommandPath())
}

func badValue(source string, flag *pflag.Flag, value string) error {
	meant := ""
	if choice, ok := flag.Value.(*choiceValue); ok {
		meant = DidYouMean(value, choice.choices)
	}
	return Usagef("%s: %q is not accepted; accepted: %s%s", source, value, accepted(flag), meant)
}

// accepted says in words what a flag takes.
func accepted(flag *pflag.Flag) string {
	switch v := flag.Value.(type) {
	case interface{ Accepted() string }:
		return v.Accepted()
	case *choiceValue:
		return v.form()
	case *listValue:
		return "names separated by commas"
	}
	switch flag.Value.Type() {
	case "duration":
		return "a duration such as 500ms, 30s, 5m or 1h30m"
	case "int", "int64":
		return "a whole number"
	case "bool":
		return "true or false"
	default:
		return "a text"
	}
}

// Stopped makes an asked-for stop before the start was over a clean one.
func Stopped(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}
