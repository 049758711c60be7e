package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes of a monitoring plug-in, as Nagios, Icinga and their kin read them.
const (
	PlugInOK       = 0
	PlugInWarning  = 1
	PlugInCritical = 2
	PlugInUnknown  = 3 // also wrong use: the plug-in can't tell
)

// plugInFlag is the annotation of a command that one of its flags makes a monitoring plug-in; its value is the flag's name.
const plugInFlag = "rowrun-plug-in-flag"

// PlugIn has a command be a monitoring plug-in where one of its flags, a bool, is given: it answers with one line on the
// standard output, and its exit codes are these, also for wrong use.
func PlugIn(cmd *cobra.Command, flag string) {
	cmd.Annotations = map[string]string{plugInFlag: flag}
}

// Verdict is the end of a monitoring plug-in that has said its line: its exit code.
type Verdict struct{ Code int }

func (v *Verdict) Error() string { return fmt.Sprintf("exit code %d of a monitoring plug-in", v.Code) }

// isPlugIn: the flag may stand behind the one that could not be read.
func isPlugIn(cmd *cobra.Command, args []string) bool {
	if cmd == nil || cmd.Annotations[plugInFlag] == "" {
		return false
	}
	flag := cmd.Flags().Lookup(cmd.Annotations[plugInFlag])
	return flag.Value.String() == "true" || slices.Contains(args, "--"+flag.Name) || slices.Contains(args, "--"+flag.Name+"=true")
}

// plugInCode is the exit code of a monitoring plug-in. What it could not say itself is said here.
func plugInCode(err error, stdout io.Writer) int {
	if err == nil {
		return PlugInOK
	}
	var verdict *Verdict
	if errors.As(err, &verdict) {
		return verdict.Code
	}
	_, _ = fmt.Fprintln(stdout, PlugInLine(PlugInUnknown, err.Error(), ""))
	return PlugInUnknown
}

// PlugInLine is what a monitoring plug-in says: one line, the performance data behind a bar.
func PlugInLine(code int, text, performance string) string {
	word := [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[code]
	line := "ROWRUN " + word + " - " + strings.ReplaceAll(Printable(text), "|", "/")
	if performance != "" {
		line += " | " + performance
	}
	return line
}
