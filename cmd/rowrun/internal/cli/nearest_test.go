package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestNearestIsWhatWasMeant(t *testing.T) {
	t.Parallel()
	words := []string{"PENDING", "AVAILABLE", "RUNNING", "DONE", "FAILED", "CANCELED"}
	for given, want := range map[string]string{
		"FALIED": "FAILED", "failed": "FAILED", "cancelled": "CANCELED", "run": "RUNNING", "RNNING": "RUNNING", "READY": "", "": "", "D": "", "done ": "DONE",
	} {
		require.Equal(t, want, Nearest(given, words), given)
	}
}

// app is a program with commands and flags; what it writes to standard error is returned.
func app(t *testing.T, environ []string, args ...string) (code int, stderr string) {
	t.Helper()
	root := Group(&cobra.Command{Use: "rowrun"})
	serve := &cobra.Command{Use: "serve", RunE: func(*cobra.Command, []string) error { return nil }}
	serve.Flags().Duration("stale-after", 0, "")
	serve.Flags().String("http-token", "", "")
	serve.Flags().String("config", "", "")
	var log LogConfig
	log.Register(serve.Flags())
	run := Group(&cobra.Command{Use: "run"})
	run.AddCommand(&cobra.Command{Use: "why", RunE: func(*cobra.Command, []string) error { return nil }})
	root.AddCommand(serve, run)
	var said bytes.Buffer
	code = Execute(context.Background(), root, args, Environment{
		Stdout: &bytes.Buffer{}, Stderr: &said, Lookup: func(string) (string, bool) { return "", false },
		Environ: func() []string { return environ },
	})
	return code, said.String()
}

func TestWrongWordsNameTheRightOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"srve"}, "did you mean serve?"},
		{[]string{"why"}, "did you mean rowrun run why?"},
		{[]string{"run", "wy"}, "did you mean why?"},
		{[]string{"serve", "--stale-aftre", "1s"}, "did you mean --stale-after?"},
		{[]string{"serve", "--log-format", "jsn"}, "accepted: json, console; did you mean json?"},
	} {
		code, said := app(t, nil, c.args...)
		require.Equal(t, ExitUsage, code, said)
		require.Contains(t, said, c.says)
	}
	_, said := app(t, nil, "nothing-like-it")
	require.NotContains(t, said, "did you mean")
}

func TestVariablesThatMeanNothingAreWarnedOf(t *testing.T) {
	t.Parallel()
	code, said := app(t, []string{"ROWRUN_STALE_AFTR=1m", "PATH=/bin"}, "serve")
	require.Equal(t, ExitDone, code)
	require.Contains(t, said, `"level":"warn"`)
	require.Contains(t, said, `"variable":"ROWRUN_STALE_AFTR","did_you_mean":"ROWRUN_STALE_AFTER"`)

	file := filepath.Join(t.TempDir(), "rowrun.yaml")
	require.NoError(t, os.WriteFile(file, []byte("databases: {orders: {url: env:ROWRUN_ORDERS}}"), 0o600))
	for _, pair := range []string{
		"ROWRUN_STALE_AFTER=1m", "ROWRUN_PG_BIN=/usr/lib", "ROWRUN_EMPTY=", "ROWRUN_SERVICE_HOST=10.0.0.1", "ROWRUN_PORT_8484_TCP_ADDR=10.0.0.1",
		"ROWRUN_PORT=tcp://10.0.0.1:8484", "ROWRUN_DB_PORT=tcp://10.0.0.2:5432", "ROWRUN_MY_TOKEN=x", "ROWRUN_ORDERS=postgres://",
	} {
		_, said = app(t, []string{pair}, "serve", "--http-token", "env:ROWRUN_MY_TOKEN", "--config", file)
		require.Empty(t, said, pair)
	}
	_, said = app(t, []string{"ROWRUN_SECRET=x"}, "serve")
	require.Contains(t, said, `"variable":"ROWRUN_SECRET"`)
	require.NotContains(t, said, "did_you_mean")
	require.NotContains(t, said, `"x"`, "a value may be a secret")
}
