package commands

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/drill"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// quickDrill is one whose lease is as short as it can be. The slack is for a busy machine.
func quickDrill(more ...string) []string {
	return append([]string{"drill", "--lease", "1s", "--stale-sweep-interval", "1s", "--slack", "30s"}, more...)
}

// child is this program as a process: serve, or a drill that is to be killed.
func child(t *testing.T, url string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program, args...) //nolint:noctx // killed below
	cmd.Env = append(os.Environ(), "ROWRUN_DATABASE_URL="+url)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// aReplica is the deployment's own: it settles what is lost, quickly.
func aReplica(t *testing.T, conn *pgx.Conn, url string, more ...string) *exec.Cmd {
	t.Helper()
	var before, now int
	const live = `SELECT count(*) FROM rowrun.replica_status WHERE live AND array_length(types, 1) > 0`
	require.NoError(t, conn.QueryRow(t.Context(), live).Scan(&before))
	cmd := child(t, url, append([]string{
		"serve", "--log-level", "error", "--stream-source", "off", "--heartbeat-interval", "300ms", "--stale-after", "1s", "--stale-sweep-interval", "300ms",
	}, more...)...)
	rowruntest.Eventually(t, "the deployment's replica lives", func() bool {
		require.NoError(t, conn.QueryRow(t.Context(), live).Scan(&now))
		return now > before
	})
	return cmd
}

// leftOfDrills counts what a drill could leave. A worker of a drill that goes on for long says truly that nobody runs what others wait for.
func leftOfDrills(t *testing.T, conn *pgx.Conn) (found int) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), `
SELECT (SELECT count(*) FROM rowrun.task WHERE name LIKE 'rowrun\_drill%' AND id <> 1000) + (SELECT count(*) FROM rowrun.task_run WHERE type = 'ROWRUN_DRILL')
     + (SELECT count(*) FROM rowrun.replica_heartbeat WHERE name LIKE 'rowrun\_drill%') + (SELECT count(*) FROM rowrun.orphan_type WHERE type = 'ROWRUN_DRILL')
     + (SELECT count(*) FROM rowrun.task_run_log)`).Scan(&found))
	return found
}

// foreign are rows of others, which no drill may change.
func foreign(t *testing.T, conn *pgx.Conn) func() string {
	t.Helper()
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (id, name, type, labels) VALUES (1000, 'rowrun_drill_00000000', 'NOOP', '{"team": "theirs"}')`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) SELECT 1000, now() + interval '1 day' FROM generate_series(1, 3)`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (id, name, type, labels) VALUES (1001, 'not a drill', 'NOOP', '{"rowrun_drill": "not a drill"}')`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES (1001, now() + interval '1 day')`)
	return func() (rows string) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT string_agg(k::text, E'\n' ORDER BY k.id) || (SELECT string_agg(r::text, E'\n' ORDER BY r.id)
			FROM rowrun.task_run r WHERE r.task_id >= 1000) FROM rowrun.task k WHERE k.id IN (1000, 1001)`).Scan(&rows))
		return rows
	}
}

// nothingLeft also waits for a look of the deployment's replica, which forgets orphans that are gone.
func nothingLeft(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	rowruntest.Eventually(t, "nothing of the drill is left", func() bool { return leftOfDrills(t, conn) == 0 })
}

func steps(report drill.Report) (names []string) {
	for _, s := range report.Steps {
		names = append(names, s.Name)
	}
	return names
}

func allSteps() []string {
	return []string{"started", "stopped", "noticed", "alerted", "settled", "recovered", "cleaned"}
}

func TestDrillIsPassedByADeploymentThatLives(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	theirs := foreign(t, conn)
	addr := freePort(t)
	aReplica(t, conn, url, "--http-addr", addr)
	before := theirs()
	file := filepath.Join(t.TempDir(), "drill.md")
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, quickDrill("--json", "--metrics-url", "http://"+addr, "--report", file)...)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	var report drill.Report
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &report))
	require.True(t, report.Passed)
	require.Equal(t, drill.ModeWorkers, report.Mode)
	require.Equal(t, allSteps(), steps(report))
	require.Equal(t, drill.Runs{Inserted: 8, Lost: 4, Settled: 4, Done: 8}, report.Runs)
	require.Equal(t, 1, report.Deployment.Others)
	require.Len(t, report.Lost, 2)
	for _, l := range report.Lost {
		require.EqualValues(t, 1000, l.LeaseMS)
		require.Equal(t, 2, l.Running)
	}
	require.Len(t, report.Alerts, 3)
	for _, a := range report.Alerts {
		require.True(t, a.Told, a.Source)
		require.NotEmpty(t, a.Seen, a.Source)
	}
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(page), "# Drill "+report.Drill+": passed\n")
	require.Equal(t, before, theirs())
	nothingLeft(t, conn)
	var announced int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM rowrun.webhook_delivery`).Scan(&announced))
	require.Zero(t, announced)

	got = rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, quickDrill("--report", file)...)
	require.Equal(t, cli.ExitUsage, got.Code)
	require.Contains(t, got.Stderr, "is there already", "a report that was filed stays")
}

// Where the whole deployment is away, what is lost is settled by the workers that come back.
func TestDrillOfADeploymentThatIsDown(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, quickDrill("--workers", "1", "--jobs", "3")...)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Regexp(t, `^# Drill rowrun_drill_[0-9a-f]{8}: passed\n`, got.Stdout)
	require.Contains(t, got.Stdout, "Runs: 3 inserted, 1 lost with their workers, 1 settled, 3 DONE in the end.")
	require.Contains(t, got.Stdout, "| status --check | ")
	require.Contains(t, got.Stdout, "CRITICAL: 0 live replicas")
	require.Contains(t, got.Stdout, "RowrunNoReplica")
	nothingLeft(t, conn)
}

// A deployment whose replicas don't look for dead ones fails its drill, and is cleaned up all the same.
func TestDrillIsFailedByADeploymentThatSettlesNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	aReplica(t, conn, url, "--http-addr", "off", "--stale-sweep-interval", "10h")
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url},
		"drill", "--lease", "1s", "--stale-sweep-interval", "100ms", "--slack", "3s", "--json")
	require.Equal(t, cli.ExitFailed, got.Code, got.Stderr)
	var report drill.Report
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &report))
	require.False(t, report.Passed)
	require.Equal(t, allSteps(), steps(report))
	for _, s := range report.Steps {
		if s.Name == drill.StepSettled {
			require.False(t, s.Passed)
			require.Contains(t, s.Found, "0 of 4 lost runs")
			require.Contains(t, s.Reason, "a look for dead replicas")
		}
	}
	require.Contains(t, got.Stderr, "rowrun: the drill was not passed: settled")
	nothingLeft(t, conn)
}

// People stop a replica of theirs, and start it again.
func TestDrillByHand(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	aReplica(t, conn, url, "--http-addr", "off")
	own := []string{"--http-addr", "off", "--queues", "drill"}
	victim := aReplica(t, conn, url, own...)
	s, err := store.Open(t.Context(), store.Config{URL: url, MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	var asked, waited []string
	d, err := drill.New(drill.Config{
		URL: url, DirectURL: url, ByHand: true, Queue: "drill", Workers: 1, Jobs: 4, Lease: time.Minute, StaleSweep: time.Second,
		Slack: 30 * time.Second, Patience: time.Minute, Health: s.Health,
		Check: func(h store.Health) (int, string) { return int(min(h.Orphans, 1)), "orphans" },
		Ask: func(_ context.Context, text string) error {
			asked = append(asked, text)
			return victim.Process.Kill()
		},
		Waiting: func(text string) {
			waited = append(waited, text)
			if strings.HasPrefix(text, "start the replicas") {
				aReplica(t, conn, url, own...)
			}
		},
	})
	require.NoError(t, err)
	report, err := d.Run(t.Context())
	require.NoError(t, err)
	require.Len(t, asked, 1)
	require.Contains(t, asked[0], "stop these replicas now, hard")
	require.Contains(t, strings.Join(waited, "\n"), "rowrun serve --queues drill")
	require.Equal(t, allSteps(), steps(report))
	require.Equal(t, drill.Runs{Inserted: 4, Lost: 4, Settled: 4, Done: 4}, report.Runs)
	require.EqualValues(t, 1000, report.Lost[0].LeaseMS)
	require.True(t, report.Passed, report.Steps)
	nothingLeft(t, conn)
}

func TestDrillRefusesWhatItCannotHold(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	refuses := func(code int, words string, args ...string) {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"drill"}, args...)...)
		require.Equal(t, code, got.Code, got.Stderr)
		require.Contains(t, got.Stderr, words)
		require.Empty(t, got.Stdout)
	}
	refuses(cli.ExitUsage, "the standard input is no terminal", "--by-hand")
	refuses(cli.ExitUsage, "--jobs: 1 is not accepted; accepted: 2 to 1000", "--jobs", "1")
	refuses(cli.ExitUsage, "--clean holds no drill; accepted: without --drill-queue", "--clean", "--drill-queue", "x")
	refuses(cli.ExitUsage, "--json and --output are two ways", "--json", "-o", "yaml")
	refuses(cli.ExitFailed, "--report: ", "--report", filepath.Join(t.TempDir(), "none", "drill.md"))

	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (id, type, queue) VALUES (1, 'MINE', 'theirs')`)
	refuses(cli.ExitFailed, "queue theirs has work of others: 1 tasks, 0 runs that have not ended", "--drill-queue", "theirs")
	rowruntest.Change(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, queues) VALUES ('theirs', now(), '{free}')`)
	refuses(cli.ExitFailed, "queue free is served by 1 live replicas of others", "--drill-queue", "free")
	rowruntest.Change(t, conn, `DELETE FROM rowrun.replica_heartbeat`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, queue, key_path, max_running)
		VALUES ('all', NULL, NULL, NULL, 10), ('of sleepers', NULL, NULL, '{sleep}', 1), ('theirs', 'NOOP', NULL, NULL, 1), ('of a queue', NULL, 'theirs', NULL, 1), ('of tenants', NULL, NULL, '{tenant}', 1)`)
	refuses(cli.ExitFailed, "would take places of others' work in these limits: all, of sleepers; give each a type or a queue")
	rowruntest.Change(t, conn, `DELETE FROM rowrun.concurrency_limit WHERE name IN ('all', 'of sleepers')`)
	file := filepath.Join(t.TempDir(), "drill.md")
	refuses(cli.ExitFailed, "no replica lives, and 1 runs of others have not ended", "--report", file)
	require.NoFileExists(t, file, "no report came of it")
	rowruntest.Change(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED'`)
	refuses(cli.ExitFailed, "http://127.0.0.1:1/metrics: ", "--metrics-url", "http://127.0.0.1:1")
	rowruntest.Change(t, conn, `SELECT pg_advisory_lock(1920298607, 8)`)
	refuses(cli.ExitFailed, "another rowrun drill runs in this database")
	refuses(cli.ExitFailed, "another rowrun drill runs in this database", "--clean")
	rowruntest.Change(t, conn, `SELECT pg_advisory_unlock(1920298607, 8)`)
	for role, words := range map[string]string{
		"rowrun_viewer":  "GRANT rowrun_client, rowrun_replica TO it",
		"rowrun_client":  "GRANT rowrun_replica TO it",
		"rowrun_replica": "GRANT rowrun_client TO it",
	} {
		login := role + "_" + conn.Config().Database[len(conn.Config().Database)-9:]
		rowruntest.Change(t, conn, `CREATE ROLE `+pgx.Identifier{login}.Sanitize()+` LOGIN IN ROLE `+role)
		t.Cleanup(func() { _, _ = conn.Exec(context.Background(), `DROP ROLE `+pgx.Identifier{login}.Sanitize()) })
		refuses(cli.ExitFailed, words, "--database-url", url+"&user="+login)
	}
	nothingLeft(t, conn)

	variables["DATABASE_URL"] = storetest.Empty(t)
	refuses(cli.ExitFailed, "run `rowrun migrate up`")
	variables["DATABASE_URL"] = "postgres://127.0.0.1:1/none"
	refuses(cli.ExitFailed, "127.0.0.1", "--connect-timeout", "100ms")
	delete(variables, "DATABASE_URL")
	refuses(cli.ExitUsage, "no database given")
}

// A role that is a member of the two that the refusals name holds a drill.
func TestDrillNeedsNoOwner(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	login := pgx.Identifier{"drills_" + conn.Config().Database[len(conn.Config().Database)-9:]}.Sanitize()
	rowruntest.Change(t, conn, `CREATE ROLE `+login+` LOGIN IN ROLE rowrun_client, rowrun_replica`)
	t.Cleanup(func() { _, _ = conn.Exec(context.Background(), `DROP ROLE `+login) })
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url + "&user=" + strings.Trim(login, `"`)}, quickDrill("--workers", "1", "--jobs", "2")...)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	nothingLeft(t, conn)
}

// atWork waits until a drill's runs are RUNNING.
func atWork(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	rowruntest.Eventually(t, "runs of the drill are RUNNING", func() bool {
		var some bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM rowrun.task_run WHERE status = 'RUNNING' AND type = 'ROWRUN_DRILL')`).Scan(&some))
		return some
	})
}

func TestDrillThatIsInterruptedCleansUp(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan rowruntest.Outcome, 1)
	go func() {
		ended <- rowrun(ctx, t, map[string]string{"DATABASE_URL": url}, "drill", "--lease", "10m")
	}()
	atWork(t, conn)
	interrupt()
	got := <-ended
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "rowrun: interrupted\n")
	nothingLeft(t, conn)
}

func TestDrillThatWasKilledIsCleanedUp(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	theirs := foreign(t, conn)
	before := theirs()
	kill := func() {
		t.Helper()
		killed := child(t, url, "drill", "--lease", "1h", "--alone")
		atWork(t, conn)
		require.NoError(t, killed.Process.Kill())
		require.Error(t, killed.Wait())
		require.Positive(t, leftOfDrills(t, conn))
	}
	// The server notices in its own time that the session which held the lock is gone.
	again := func(args ...string) (got rowruntest.Outcome) {
		t.Helper()
		rowruntest.Eventually(t, "the lock is free", func() bool {
			got = rowrun(t.Context(), t, variables, args...)
			return !strings.Contains(got.Stderr, "another rowrun drill runs")
		})
		return got
	}
	kill()
	got := again("drill", "--clean")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Regexp(t, `^removed rowrun_drill_[0-9a-f]{8}\n$`, got.Stdout)
	nothingLeft(t, conn)
	got = again("drill", "--clean", "-o", "json")
	require.JSONEq(t, `{"removed": []}`, got.Stdout, got.Stderr)
	require.Equal(t, before, theirs())

	kill()
	got = again(quickDrill("--alone", "--jobs", "2")...)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Regexp(t, `Note: removed what drill rowrun_drill_[0-9a-f]{8} had left, which was interrupted\.`, got.Stdout)
	nothingLeft(t, conn)
}

// A worker without a drill ends at once.
func TestWorkersOfADrillAreStartedByIt(t *testing.T) {
	t.Parallel()
	got := rowrun(t.Context(), t, nil, "drill", "worker")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "no orders came: `rowrun drill` starts its workers itself")
}

// freePort is an address of loopback that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}
