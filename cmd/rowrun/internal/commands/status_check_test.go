package commands

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

// plugInLine is what monitoring systems read: one line, and performance data of their form.
var plugInLine = regexp.MustCompile(`^ROWRUN (OK|WARNING|CRITICAL|UNKNOWN) - [^|\n]+(\| ('[a-z_]+'=-?[0-9.]+s?;[-@~:0-9.]*;[-@~:0-9.]*;0 ?)+)?\n$`)

// checked runs `rowrun status --check` and holds what it says against the form.
func checked(t *testing.T, url string, args ...string) (code int, line string) {
	t.Helper()
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, append([]string{"status", "--check"}, args...)...)
	require.Regexp(t, plugInLine, got.Stdout)
	require.Empty(t, got.Stderr)
	word := plugInLine.FindStringSubmatch(got.Stdout)[1]
	require.Equal(t, map[string]int{"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}[word], got.Code, got.Stdout)
	return got.Code, got.Stdout
}

func TestStatusCheckIsAMonitoringPlugIn(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	code, line := checked(t, url) // nobody lives
	require.Equal(t, cli.PlugInCritical, code)
	require.Contains(t, line, "CRITICAL - 0 live replicas (critical: 1:) | 'replicas'=0;;1:;0 'oldest_age'=0s;60;300;0 'overdue_age'=0s;60;300;0 'stale'=0;0;;0 ")

	rowruntest.Change(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types) VALUES ('one', now(), '1 hour', '{NOOP}');
INSERT INTO rowrun.task (type) VALUES ('MINE'); INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task`)
	code, line = checked(t, url)
	require.Equal(t, cli.PlugInOK, code)
	require.Regexp(t, `^ROWRUN OK - 1 live replicas, oldest AVAILABLE run \d+s, 0 stale, 0 overdue \| 'replicas'=1;`, line)

	age := func(interval string) {
		rowruntest.Change(t, conn, `SET session_replication_role = replica; UPDATE rowrun.task_run SET available_at = now() - interval '`+interval+`'; SET session_replication_role = origin`)
	}
	age("2 min")
	code, line = checked(t, url)
	require.Equal(t, cli.PlugInWarning, code)
	require.Regexp(t, `a run has been AVAILABLE for 2m\d+s \(warning: 60\) \|.*'oldest_age'=12\ds;60;300;0`, line)
	age("10 min")
	code, _ = checked(t, url)
	require.Equal(t, cli.PlugInCritical, code)
	for args, want := range map[string]int{
		"--max-oldest-available=1h":        cli.PlugInOK,
		"--max-oldest-available=1m,1h":     cli.PlugInWarning,
		"--max-oldest-available=60":        cli.PlugInCritical,
		"--max-oldest-available=@9m:11m,":  cli.PlugInWarning,
		"--max-oldest-available=@~:1s":     cli.PlugInOK,
		"--max-oldest-available=1m,banana": cli.PlugInUnknown,
	} {
		code, line = checked(t, url, args)
		require.Equal(t, want, code, "%s: %s", args, line)
	}
	code, line = checked(t, url, "--max-oldest-available", "1h", "--min-replicas", "3,2")
	require.Equal(t, cli.PlugInCritical, code)
	require.Contains(t, line, "'replicas'=1;3:;2:;0")

	rowruntest.Change(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease) VALUES ('gone', now() - interval '1 hour', '1 min');
SET session_replication_role = replica; UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'gone'; SET session_replication_role = origin`)
	code, line = checked(t, url)
	require.Equal(t, cli.PlugInWarning, code)
	require.Contains(t, line, "1 RUNNING runs belong to replicas that are gone (warning: 0)")
}

// Whoever only looks may ask; a schema of another version can't be judged.
func TestStatusCheckAgainstOtherDatabases(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types) VALUES ('one', now(), '1 hour', '{NOOP}')`)

	// One that reads only, by its own wish, may look; a database that takes no writes is no good to anybody.
	viewer := url + "&options=-crole%3Drowrun_viewer%20-cdefault_transaction_read_only%3Don"
	code, line := checked(t, viewer)
	require.Equal(t, cli.PlugInOK, code, line)
	rowruntest.Change(t, conn, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
	code, line = checked(t, url)
	require.Equal(t, cli.PlugInCritical, code)
	require.Contains(t, line, "takes no writes")
	require.Contains(t, line, "'replicas'=1;")
	rowruntest.Change(t, rowruntest.Connect(t, url+"&options=-cdefault_transaction_read_only%3Doff"),
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET default_transaction_read_only', current_database()); END $$`)

	conn = rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `CREATE TEMPORARY TABLE newest AS SELECT * FROM rowrun.migration ORDER BY version DESC LIMIT 1; DELETE FROM rowrun.migration WHERE version = (SELECT version FROM newest)`)
	code, line = checked(t, url)
	require.Equal(t, cli.PlugInUnknown, code)
	require.Contains(t, line, fmt.Sprintf("the schema is at version %d and this program needs %d", migrations.Version()-1, migrations.Version()))
	rowruntest.Change(t, conn, `INSERT INTO rowrun.migration SELECT * FROM newest`)
	rowruntest.Change(t, conn, `UPDATE rowrun.code_version SET release = $1`, migrations.Release()+1)
	code, line = checked(t, url)
	require.Equal(t, cli.PlugInOK, code, line)

	code, line = checked(t, storetest.Empty(t))
	require.Equal(t, cli.PlugInUnknown, code)
	require.Contains(t, line, "no schema of Rowrun's")
}

func TestStatusCheckOfADeadDatabaseIsCritical(t *testing.T) {
	t.Parallel()
	for text, url := range deadDatabases(t) {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			code, line := checked(t, url, "--connect-timeout", "1s")
			require.Equal(t, cli.PlugInCritical, code)
			require.Contains(t, line, text)
			require.NotContains(t, line, "hunter2")
			require.Less(t, time.Since(begun), 20*time.Second)
		})
	}
}

// Wrong use is exit code 3 wherever it is noticed, and the line says what.
func TestStatusCheckSaysWrongUseInItsLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args      []string
		variables map[string]string
		says      string
	}{
		{[]string{"status", "--bogus", "--check"}, nil, "--bogus"},
		{[]string{"status", "--check", "more"}, nil, "no arguments"},
		{[]string{"status", "--check", "--max-overdue", "2,1,0"}, nil, "[WARNING,]CRITICAL"},
		{[]string{"status", "--check", "--connect-timeout", "0s"}, map[string]string{"DATABASE_URL": "host=x"}, "--connect-timeout"},
		{[]string{"status", "--check"}, nil, "rowrun dev"},
		{[]string{"status", "--check", "--watch"}, map[string]string{"DATABASE_URL": "host=x"}, "--watch"},
		{[]string{"status"}, map[string]string{"ROWRUN_CHECK": "true", "ROWRUN_MIN_REPLICAS": "many"}, "ROWRUN_MIN_REPLICAS"},
	} {
		got := rowrun(t.Context(), t, c.variables, c.args...)
		require.Equal(t, cli.PlugInUnknown, got.Code, "%v: %s%s", c.args, got.Stdout, got.Stderr)
		require.Regexp(t, plugInLine, got.Stdout)
		require.Contains(t, got.Stdout, c.says)
		require.Empty(t, got.Stderr)
	}
	got := rowrun(t.Context(), t, nil, "status", "--bogus")
	require.Equal(t, cli.ExitUsage, got.Code)
}
