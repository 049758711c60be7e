package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two days of some seconds: everything that a week has comes in them, nothing is lost, and the table has a line for each. So
// short a time tells nothing of growth, but that it is measured.
func TestAWeekOfTwoShortDays(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "rowrun-week-") //nolint:usetesting // the server's user passes through; that of t.TempDir is closed to it
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o711)) //nolint:gosec // see above
	rowrun := filepath.Join(dir, "rowrun")
	compile := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", rowrun, "github.com/rowrun/rowrun/cmd/rowrun")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	said, err := compile.CombinedOutput()
	require.NoError(t, err, "%s", said)
	var out bytes.Buffer
	b := &bench{rowrun: rowrun, dir: dir, days: 2, day: 10 * time.Second, table: table{out: &out}}
	if err := b.week(t.Context()); err != nil {
		require.ErrorContains(t, err, "grown:", out.String())
	}
	text := out.String()
	require.Contains(t, text, "2 days of 10s\n")
	require.Len(t, regexp.MustCompile(`(?m)^\| [12] \| \d+ \| [1-9][\d.]* \| [1-9]\d* \| [\d.]+ \| [\d.]+ \| [1-9][\d.]* \| \d+ \| [\d.]+ \| [\d.]+ \|$`).FindAllString(text, -1), 2, text)
	require.Contains(t, text, "memory ≤ 1.2 × + 5 MiB")
}

func TestTheSuiteWeekIsOneSection(t *testing.T) {
	t.Parallel()
	chosen, err := choose(weekSuite, "")
	require.NoError(t, err)
	require.Len(t, chosen, 1)
	b := &bench{days: 7, day: 24 * time.Minute}
	require.Equal(t, 168*time.Minute, b.length(chosen[0]))
	chosen, err = choose(ownSuite, "idle")
	require.NoError(t, err)
	require.Zero(t, b.length(chosen[0]))
}
