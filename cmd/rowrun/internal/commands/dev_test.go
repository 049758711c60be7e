package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/connect"
)

// devDir is a directory that the server's user can reach, also where that isn't ours.
func devDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		require.NoError(t, os.Chmod(d, 0o755)) //nolint:gosec // see above
	}
	return filepath.Join(dir, "cluster")
}

// found waits for a line that a command wrote to its standard error, and returns the first group.
func found(t *testing.T, logs *streamed, pattern string) string {
	t.Helper()
	var match []string
	rowruntest.Eventually(t, pattern, func() bool {
		logs.mu.Lock()
		defer logs.mu.Unlock()
		match = regexp.MustCompile("(?m)" + pattern).FindStringSubmatch(strings.Join(logs.lines, "\n"))
		return match != nil
	})
	return match[1]
}

func TestDevRunsItsSampleOnceAndGoesOnWithItsData(t *testing.T) {
	t.Parallel()
	dir := devDir(t)
	args := []string{"dev", "--sample", "--dir", dir, "--http-addr", "off", "--drain-timeout", "5s"}
	// What leads elsewhere in the environment is not for dev.
	const elsewhere = "postgres://nobody@127.0.0.1:1/elsewhere"

	var out streamed
	stop, logs := start(t, elsewhere, &out, args...)
	line := found(t, logs, `^psql '(.*)'$`)
	for _, run := range []struct {
		id   int64
		want string
	}{
		{1, lifeOfARun},
		{2, lifeOfARun},
		{3, lifeOfARun},
		{5, lifeOfARun},
		{4, "pending available running failed"},
		{6, lifeOfARun},
	} {
		rowruntest.Eventually(t, "the whole sample in the stream", func() bool { return out.events(t, run.id) == run.want })
	}
	require.Equal(t, "Pipeline completed successfully",
		found(t, logs, `^PIPELINE_COMPLETED, plan 1 \(sample\): (.*)$`), "a webhook that was received and verified")
	conn := rowruntest.Connect(t, line)
	var path, plan string
	require.NoError(t, conn.QueryRow(t.Context(), "SHOW search_path").Scan(&path))
	require.Equal(t, "rowrun,public", path)
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT status FROM plan_status WHERE name = 'sample' AND project = 'default'").Scan(&plan))
	require.Equal(t, "DONE", plan)
	demo := rowruntest.Connect(t, strings.Replace(line, "dbname=rowrun", "dbname=demo", 1))
	var customers int
	require.NoError(t, demo.QueryRow(t.Context(), "SELECT count(city) FROM public.customer").Scan(&customers))
	require.Equal(t, 2, customers)

	got := rowrun(t.Context(), t, nil, "dev", "--dir", dir, "--http-addr", "off")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "another `rowrun dev` has "+dir)

	dsn := rowrun(t.Context(), t, nil, "dev", "--dir", dir, "--dsn-only")
	require.Equal(t, cli.ExitDone, dsn.Code, dsn.Stderr)
	require.Equal(t, found(t, logs, `^export DATABASE_URL='(.*)'$`)+"\n", dsn.Stdout)
	require.NotEmpty(t, found(t, &out, `"event":"task_run.done".*"lsn":"([0-9A-F/]+)"`), "the stream comes from the write-ahead log")
	got = rowrun(t.Context(), t, map[string]string{"DATABASE_URL": strings.TrimSpace(dsn.Stdout)}, "run", "list", "--plan", "1", "-o", "json")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	connect.Close(t.Context(), conn)
	connect.Close(t.Context(), demo)
	require.Equal(t, cli.ExitDone, stop())
	_, err := pgx.Connect(t.Context(), line)
	require.Error(t, err, "no server is left behind")
	require.FileExists(t, filepath.Join(dir, "data", "PG_VERSION"))

	var again streamed
	stop, logs = start(t, elsewhere, &again, args...)
	require.Equal(t, line, found(t, logs, `^psql '(.*)'$`), "the same port")
	rowruntest.Eventually(t, "one run to look at", func() bool { return again.events(t, 7) == lifeOfARun })
	require.Equal(t, "Pipeline completed successfully on retry", found(t, logs, `^PIPELINE_COMPLETED, plan 1 \(sample\): (.*)$`),
		"with the address and the secret of this start")
	conn = rowruntest.Connect(t, line)
	var plans, runs int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM plan) * (SELECT count(*) FROM webhook), (SELECT count(*) FROM task_run)").Scan(&plans, &runs))
	require.Equal(t, 1, plans)
	require.Equal(t, 7, runs)

	connect.Close(t.Context(), conn)

	// A server that ends on its own is started again.
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	rowruntest.Eventually(t, "another server", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
		return err == nil && !strings.HasPrefix(string(text), strconv.Itoa(pid)+"\n") && connect.Try(t.Context(), line) == nil
	})
	conn = rowruntest.Connect(t, line)
	id := insertRun(t, conn, "NOOP", "{}", nil)
	rowruntest.Eventually(t, "it serves again", func() bool { return strings.HasSuffix(again.events(t, id), "running done") })
	connect.Close(t.Context(), conn)
	require.Equal(t, cli.ExitDone, stop(), "%v", logs.lines)
	dsn = rowrun(t.Context(), t, nil, "dev", "--dir", dir, "--dsn-only")
	require.Equal(t, cli.ExitFailed, dsn.Code)
	require.Contains(t, dsn.Stderr, "no `rowrun dev` has "+dir)

	var fresh streamed
	stop, logs = start(t, elsewhere, &fresh, append(args, "--fresh")...)
	conn = rowruntest.Connect(t, found(t, logs, `^psql '(.*)'$`))
	rowruntest.Eventually(t, "the sample, from its beginning", func() bool { return fresh.events(t, 6) == lifeOfARun })
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM task_run").Scan(&runs))
	require.Equal(t, 6, runs)
	connect.Close(t.Context(), conn)
	require.Equal(t, cli.ExitDone, stop(), "%v", logs.lines)
}

func TestDevRefusesWrongUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--database-url", rowruntest.SomeURL}, "unknown flag: --database-url"},
		{[]string{"--migrate"}, "unknown flag: --migrate"},
		{[]string{"--sample", "--app-url", "http://127.0.0.1:1"}, "leave --app-url out"},
		{[]string{"--stale-after", "1s"}, "--stale-after"},
		{[]string{"now"}, "no arguments"},
	} {
		dir := filepath.Join(t.TempDir(), "none")
		got := rowrun(t.Context(), t, nil, append([]string{"dev", "--dir", dir}, c.args...)...)
		require.Equal(t, cli.ExitUsage, got.Code, "%v: %s", c.args, got.Stderr)
		require.Contains(t, got.Stderr, c.says)
		require.NoDirExists(t, dir, "refused before anything was made")
	}
}
