package commands

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
)

// withinADay is how a moment of the next 24 hours is told, at any time of the day.
const withinADay = `in (\d+ h( \d+ min)?|\d+ min|\d+ s)`

func TestScheduleImportMakesTasksAndCommands(t *testing.T) {
	t.Parallel()
	s, _ := newShell(t)
	dir := t.TempDir()
	path, config := filepath.Join(dir, "crontab"), filepath.Join(dir, "commands.yaml")
	text := "PATH=/usr/bin\nCRON_TZ=Europe/Berlin\n30 2 * * * /usr/bin/backup --full > /dev/null\n@hourly find /tmp -name '*.tmp' -exec rm {} +\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))

	table, said := s.does("schedule", "import", path, "--dry-run", "--prefix", "cron-")
	require.Regexp(t, `(?m)^3 +cron-backup +30 2 \* \* \* +Europe/Berlin +/usr/bin/backup --full`, table)
	require.Contains(t, said, "commands:\n    cron-backup:\n")
	_, said = s.does("task", "list")
	require.Contains(t, said, "no task")

	for range 2 {
		s.does("schedule", "import", path, "--config-to", config)
	}
	table, _ = s.does("schedule", "list")
	require.Regexp(t, `(?m)^\d+ +backup +30 2 \* \* \* +Europe/Berlin +`+withinADay+` .*PENDING$`, table)
	require.Regexp(t, `(?m)^\d+ +find +@hourly +Europe/Berlin`, table)
	text, _ = s.does("task", "show", "find", "-o", "json")
	require.Contains(t, text, `"command": "find"`)
	require.Contains(t, text, `"timeout_ms": 0`)
	tasks, _ := s.does("task", "list", "-o", "name")
	require.Len(t, tasks, len("1\n2\n"), "called twice it makes one set")

	file, err := replica.ReadFile(config)
	require.NoError(t, err, "a sidecar takes it")
	require.Len(t, file.Commands, 2)

	got := s.fed("0 0 30 2 * never\n", "schedule", "import", "-", "--time-zone", "UTC")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "line 1: nothing was made: ")
	require.Contains(t, got.Stderr, "RR003")
	got = s.fed("0 0 * * * ok\n@reboot start\n", "schedule", "import", "-")
	require.Equal(t, cli.ExitUsage, got.Code)
	require.Contains(t, got.Stderr, "nothing was made; take these lines out, or mend them:\nline 2: @reboot")
	s.fails(cli.ExitUsage, "no such file", "schedule", "import", "/nowhere")
}
