package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
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

func TestScheduleImportLeavesTheTasksOfOthersAlone(t *testing.T) {
	t.Parallel()
	s, _ := newShell(t)
	dir := t.TempDir()
	crontab := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	imports := func(path string, more ...string) []string {
		return append([]string{"schedule", "import", path, "--time-zone", "UTC"}, more...)
	}
	ours := crontab("ours", "30 2 * * * backup /home\n")
	theirs := crontab("theirs", "0 5 * * * sync\n0 6 * * * backup /srv\n")
	s.does("task", "define", "report", "--type", "HTTP", "--payload", `{"path": "/report"}`)
	s.does("task", "define", "find", "--type", "COMMAND", "--payload", `{"command": "find"}`)
	s.does(imports(ours)...)

	s.fails(cli.ExitFailed, `line 2: task 3 (backup) is of the crontab '`, imports(theirs)...)
	s.fails(cli.ExitFailed, `line 1: task 1 (report) is of type HTTP`, imports(crontab("report", "0 1 * * * report\n"))...)
	s.fails(cli.ExitFailed, `line 1: task 2 (find) has no label crontab that says whose it is`, imports(crontab("find", "0 1 * * * find\n"))...)
	s.fails(cli.ExitFailed, "--prefix gives this one names of its own", imports(theirs)...)
	for _, text := range []string{"0 1 * * * backup\n", "0 2 * * * report\n"} {
		require.Equal(t, cli.ExitFailed, s.fed(text, imports("-")...).Code)
	}
	table, _ := s.does("schedule", "list")
	require.Regexp(t, `(?m)^3 +backup +30 2 \* \* \* +UTC`, table)
	require.NotContains(t, table, "sync", "all or none")
	text, _ := s.does("task", "show", "report", "-o", "json")
	require.Contains(t, text, `"type": "HTTP"`)

	s.does(imports(theirs, "--prefix", "srv-")...)
	table, _ = s.does("schedule", "list")
	require.Regexp(t, `(?m)^\d+ +srv-backup +0 6`, table)
}

// An import changes what the crontab says, and nothing that people have set on its tasks; what is of no line any more is named.
func TestScheduleImportKeepsWhatTheCrontabDoesNotSay(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	dir := t.TempDir()
	path, config := filepath.Join(dir, "crontab"), filepath.Join(dir, "commands.yaml")
	imports := []string{"schedule", "import", path, "--time-zone", "UTC"}
	require.NoError(t, os.WriteFile(path, []byte("0 1 * * * backup.sh /a\n0 2 * * * backup.sh /b\n"), 0o600))
	s.does(append(imports, "--dry-run", "--config-to", config)...)
	require.NoFileExists(t, config, "a dry run leaves nothing behind")
	_, said := s.does(imports...)
	require.NotContains(t, said, "of no line")
	_, err := conn.Exec(t.Context(), `UPDATE rowrun.task SET queue = 'host1', max_attempts = 3, priority = 7, timeout = '1 h', progress_timeout = '2 min', retry_delay = '4 s',
		on_stale = 'RETRY', labels = labels || '{"team": "core"}', payload = payload || '{"args": ["-v"]}' WHERE name = 'backup.sh'`)
	require.NoError(t, err)
	kept := func() (row string) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT concat_ws(' ', queue, max_attempts, priority, timeout, progress_timeout, retry_delay, on_stale, labels ->> 'team',
			labels ? 'crontab', payload, schedule) FROM rowrun.task WHERE name = 'backup.sh'`).Scan(&row))
		return row
	}
	before := kept()

	_, said = s.does(imports...)
	require.Equal(t, before, kept())
	require.NotContains(t, said, "of no line")

	require.NoError(t, os.WriteFile(path, []byte("0 2 * * * backup.sh /b\n"), 0o600))
	_, said = s.does(imports...)
	require.Contains(t, said, "task 1 (backup.sh) had the schedule 0 1 * * *")
	require.Contains(t, said, "task 2 (backup.sh-2) is of this crontab and of no line of it, and keeps its schedule 0 2 * * *; rowrun schedule pause 2 stops it")
	require.Equal(t, strings.Replace(before, "0 1 * * *", "0 2 * * *", 1), kept())
}

// A task that somebody else makes between the look at the names and the import isn't taken over.
func TestScheduleImportTakesNothingOverThatIsMadeBesideIt(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT rowrun.define_task('backup', 'HTTP', '{"path": "/backup"}')`)
	require.NoError(t, err)
	got := make(chan rowruntest.Outcome, 1)
	go func() {
		got <- s.fed("0 1 * * * sync\n0 2 * * * backup\n", "schedule", "import", "-", "--time-zone", "UTC")
	}()
	rowruntest.Eventually(t, "the import waits for the name", func() (waits bool) {
		require.NoError(t, tx.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid)`).Scan(&waits))
		return waits
	})
	require.NoError(t, tx.Commit(t.Context()))
	outcome := <-got
	require.Equal(t, cli.ExitFailed, outcome.Code, outcome.Stderr)
	require.Contains(t, outcome.Stderr, "line 2: nothing was made: a task of that name has just been made by somebody else")
	text, _ := s.does("task", "show", "backup", "-o", "json")
	require.Contains(t, text, `"type": "HTTP"`)
	s.fails(cli.ExitFailed, "", "task", "show", "sync")
}

func TestScheduleImportBringsItsOwnTasksUpToDate(t *testing.T) {
	t.Parallel()
	s, _ := newShell(t)
	path := filepath.Join(t.TempDir(), "crontab")
	for i, text := range []string{"30 2 * * * backup\n", "30 2 * * * backup\n", "0 4 * * * backup\n0 5 * * * sync\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, said := s.does("schedule", "import", path, "--time-zone", "UTC")
		require.Equal(t, i == 2, strings.Contains(said, "line 1: task 1 (backup) had the schedule 30 2 * * * in UTC\n"), said)
	}
	tasks, _ := s.does("task", "list", "-o", "name")
	require.Equal(t, "2\n1\n", tasks)

	fed := func(text string, more ...string) int {
		return s.fed(text, append([]string{"schedule", "import", "-", "--time-zone", "UTC"}, more...)...).Code
	}
	require.Equal(t, cli.ExitDone, fed("0 1 * * * report\n"))
	require.Equal(t, cli.ExitDone, fed("0 1 * * * report\n"), "the same text is the same crontab")
	require.Equal(t, cli.ExitFailed, fed("0 2 * * * report\n"), "another one may be somebody else's")
	text, _ := s.does("task", "show", "report", "-o", "json")
	source := regexp.MustCompile(`"crontab": "(standard input [0-9a-f]{16})"`).FindStringSubmatch(text)
	require.NotNil(t, source, text)
	require.Equal(t, cli.ExitDone, fed("0 2 * * * report\n", "--source", source[1]))
	table, _ := s.does("schedule", "list")
	require.Regexp(t, `(?m)^3 +report +0 2 \* \* \* +UTC`, table)
}

func TestScheduleImportKeepsWhatStandsInTheFileForTheCommands(t *testing.T) {
	t.Parallel()
	s, _ := newShell(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "commands.yaml")
	imports := []string{"schedule", "import", "-", "--time-zone", "UTC", "--config-to", config}
	require.Equal(t, cli.ExitDone, s.fed("30 2 * * * backup\n", imports...).Code)
	written, err := os.ReadFile(config)
	require.NoError(t, err)
	require.Equal(t, cli.ExitDone, s.fed("30 2 * * * backup\n", imports...).Code)

	got := s.fed("0 5 * * * sync\n", imports...)
	require.Equal(t, cli.ExitUsage, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "--config-to: nothing was made: something else stands in "+config)
	there, err := os.ReadFile(config)
	require.NoError(t, err)
	require.Equal(t, string(written), string(there))
	tasks, _ := s.does("task", "list", "-o", "name")
	require.Equal(t, "1\n", tasks)

	imports[len(imports)-1] = filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(imports[len(imports)-1], nil, 0o600))
	require.Equal(t, cli.ExitDone, s.fed("0 5 * * * sync\n", imports...).Code)
}
