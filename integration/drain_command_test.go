package integration_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A command that ignores SIGTERM is gone when its run is recorded as DRAINED: from then on others may start what follows.
func TestADrainedCommandIsGoneBeforeItsEndIsRecorded(t *testing.T) {
	t.Parallel()
	d, stamps := newDatabase(t), filepath.Join(t.TempDir(), "stamps")
	r := serve(t, d.url, commandFile(t, `trap '' TERM; while :; do date +%s%N >> `+stamps+`; sleep 0.02; done`), []string{"--drain-timeout", "10s"})
	run := d.job(t, "COMMAND", `{"command": "c"}`, nil)
	last := func() (at time.Time) {
		text, err := os.ReadFile(stamps) //nolint:gosec // its own file
		if lines := strings.Fields(string(text)); err == nil && len(lines) > 0 {
			nanos, err := strconv.ParseInt(lines[len(lines)-1], 10, 64)
			require.NoError(t, err)
			at = time.Unix(0, nanos)
		}
		return at
	}
	eventually(t, patience, "the command's start", func() bool { return !last().IsZero() })
	r.meant = true
	r.signal(t, syscall.SIGTERM)
	ended := d.await(t, run, "FAILED")
	require.Equal(t, "DRAINED", ended.Code)
	r.wait(t)
	eventually(t, patience, "the command's end", func() bool { return time.Since(last()) > 2*time.Second })
	require.True(t, last().Before(*ended.FinishedAt), "it went on until %s, and its run had ended at %s", last(), ended.FinishedAt)
}
