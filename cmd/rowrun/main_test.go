package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/cmdexec"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) {
	cmdexec.MaybeSupervise()
	maybeServeDeaf()
	maybeBench()
	maybeSignalTwice()
	storetest.Main(m)
}

// outcome is what a command line left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// rowrun runs one command line in this process, with these variables only.
func rowrun(ctx context.Context, t *testing.T, variables map[string]string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, environment{
		stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, lookup: lookupIn(variables),
	})
	return outcome{code, stdout.String(), stderr.String()}
}

func lookupIn(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
}

// eventually polls in the test's own goroutine, so that holds may use require.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline, tick := time.After(30*time.Second), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			require.Fail(t, "did not come about in time", what)
		}
	}
}
