package chaos_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clock is that of one server: the machine's, and so much more. libfaketime asks a file for that.
type clock struct {
	library, file string
	ahead         time.Duration
}

func newClock(t *testing.T) *clock {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	require.NoError(t, err)
	require.NotEmpty(t, found, "libfaketime is missing: run .ci/ensure faketime")
	dir, err := os.MkdirTemp("", "rowrun-clock-") //nolint:usetesting // the server's user can't enter the test's
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) //nolint:gosec // the server's user reads it
	c := &clock{library: found[0], file: filepath.Join(dir, "ahead")}
	c.step(t, 0)
	return c
}

// env has a server follow this clock. What waits goes by a time that nobody sets.
func (c *clock) env() []string {
	return []string{"LD_PRELOAD=" + c.library, "FAKETIME_TIMESTAMP_FILE=" + c.file, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"}
}

func (c *clock) step(t *testing.T, by time.Duration) {
	t.Helper()
	c.ahead += by
	text := fmt.Sprintf("%+d\n", int(c.ahead.Seconds()))
	require.NoError(t, os.WriteFile(c.file+".new", []byte(text), 0o644)) //nolint:gosec // the server's user reads it
	require.NoError(t, os.Rename(c.file+".new", c.file))
}
