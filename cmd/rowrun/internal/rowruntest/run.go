package rowruntest

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

// Program is a whole command line: it runs args and returns the exit code.
type Program func(ctx context.Context, args []string, env cli.Environment) int

// Outcome is what a command line left behind.
type Outcome struct {
	Code           int
	Stdout, Stderr string
}

// Run runs one command line in this process, with these variables only.
func Run(ctx context.Context, t *testing.T, run Program, variables map[string]string, args ...string) Outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, cli.Environment{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Lookup: LookupIn(variables), Version: "dev",
	})
	return Outcome{code, stdout.String(), stderr.String()}
}

// LookupIn finds variables in a map.
func LookupIn(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
}

// patience is how long a test waits for what must come; never how long it takes.
const patience = 2 * time.Minute

// Eventually polls in the test's own goroutine, so that holds may use require.
func Eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			require.Fail(t, "did not come about in time", what)
		}
	}
}
