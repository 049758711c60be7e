package chaos_test

import (
	"cmp"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clock is that of one server: the machine's, and so much more. The library that asks for that is testdata/clock.c.
type clock struct {
	library, file string
	ahead         time.Duration
}

func newClock(t *testing.T) *clock {
	t.Helper()
	dir, err := os.MkdirTemp("", "rowrun-clock-") //nolint:usetesting // the server's user can't enter the test's
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) //nolint:gosec // the server's user reads it
	c := &clock{library: filepath.Join(dir, "clock.so"), file: filepath.Join(dir, "ahead")}
	out, err := exec.CommandContext(t.Context(), cmp.Or(os.Getenv("CC"), "gcc"), "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", c.library, "testdata/clock.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	c.step(t, 0)
	return c
}

// env has a server follow this clock.
func (c *clock) env() []string { return []string{"LD_PRELOAD=" + c.library, "CLOCK_AHEAD=" + c.file} }

// step writes into the file as it stands: the server has it mapped.
func (c *clock) step(t *testing.T, by time.Duration) {
	t.Helper()
	c.ahead += by
	file, err := os.OpenFile(c.file, os.O_WRONLY|os.O_CREATE, 0o644) //nolint:gosec // the server's user reads it
	require.NoError(t, err)
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(c.ahead/time.Second)), 0) //nolint:gosec // its bits
	require.NoError(t, err)
	require.NoError(t, file.Close())
}
