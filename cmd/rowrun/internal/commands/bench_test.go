package commands

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/bench"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// maybeBench is the whole program where a bench or a drill started this binary as its replica or worker, or a test as either.
func maybeBench() {
	if len(os.Args) > 1 && (os.Args[1] == "serve" || os.Args[1] == "bench" || os.Args[1] == "drill") {
		ctx, stop := cli.UntilSignal(context.Background())
		code := run(ctx, os.Args[1:], cli.Environment{
			Stdin: os.Stdin, Stdout: os.Stdout, Stderr: cli.NewUnhurried(os.Stderr), Lookup: os.LookupEnv,
		})
		stop()
		os.Exit(code)
	}
}

// measure runs a small bench and returns its cases by measurement and name.
func measure(t *testing.T, url string, args ...string) map[string]map[string]*bench.Case {
	t.Helper()
	args = append([]string{"bench", "-o", "json", "--runs", "100", "--rounds", "1", "--duration", "100ms", "--writers", "2", "--rate", "200"}, args...)
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, args...)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	var report bench.Report
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &report))
	require.Regexp(t, `^1\d\.`, report.Server.Version)
	require.NotEmpty(t, report.Server.Settings)
	require.Equal(t, 100, report.Sizes.Runs)
	cases := map[string]map[string]*bench.Case{}
	for _, m := range report.Measurements {
		cases[m.Name] = map[string]*bench.Case{}
		for _, c := range m.Cases {
			cases[m.Name][c.Name] = c
			for _, f := range c.Figures {
				require.GreaterOrEqual(t, f.Value, 0.0, "%s, %s: %s", m.Name, c.Name, f.Name)
				require.LessOrEqual(t, f.Least, f.Most)
			}
		}
	}
	return cases
}

// has asks a case for figures that can't be zero.
func has(t *testing.T, c *bench.Case, names ...string) {
	t.Helper()
	require.NotNil(t, c)
	for _, name := range names {
		i := slices.IndexFunc(c.Figures, func(f *bench.Figure) bool { return f.Name == name })
		require.GreaterOrEqual(t, i, 0, "%s has no %s", c.Name, name)
		require.Positive(t, c.Figures[i].Value, "%s: %s", c.Name, name)
	}
}

// remains counts what a bench could leave in a database that has nothing else.
func remains(t *testing.T, conn *pgx.Conn) (found int) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), `
SELECT (SELECT count(*) FROM rowrun.task WHERE queue LIKE 'rowrun\_bench%') + (SELECT count(*) FROM rowrun.plan WHERE project LIKE 'rowrun\_bench%')
     + (SELECT count(*) FROM rowrun.task_run WHERE queue LIKE 'rowrun\_bench%') + (SELECT count(*) FROM rowrun.replica_heartbeat WHERE name LIKE 'rowrun\_bench%')
     + (SELECT count(*) FROM rowrun.gate_mark WHERE num_nonnulls(task_id, plan_id, database_id) > 0)
     + (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'rowrun\_bench%')
     + (SELECT count(*) FROM pg_replication_slots WHERE database = current_database())
     + (SELECT count(*) FROM rowrun.stream_position) + (SELECT count(stream_replica_id) FROM rowrun.deployment)`).Scan(&found))
	return found
}

func TestBenchOfBacklogsLosesNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	cases := measure(t, url, "drain", "gated")
	drain := cases["drain"]
	require.Len(t, drain, 4)
	for _, c := range drain {
		require.Equal(t, 100, c.Runs, c.Name)
		has(t, c, "rate", "wal_per_run")
	}
	has(t, drain["chain"], "step")
	require.Equal(t, 10, cases["gated"]["10 blocked"].Runs)
	has(t, cases["gated"]["100 blocked"], "promote_p50", "end_p50", "promote_ratio")
	require.Zero(t, remains(t, rowruntest.Connect(t, url)))
}

func TestBenchBesideOthersLeavesTheirRowsAlone(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (id, type, database_id, version) VALUES (1000, 'MINE', 'orders', '1.2')`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (id, task_id, run_at) VALUES (1000, 1000, now() + interval '1 day')`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, name, last_heartbeat) VALUES ('theirs', 'theirs', now() + interval '1 hour')`)
	rowruntest.Change(t, conn, `UPDATE rowrun.deployment SET stream_replica_id = 'theirs'`)
	theirs := func() (rows string) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT (SELECT t::text FROM rowrun.task t) || (SELECT r::text FROM rowrun.task_run r)
			|| (SELECT h::text FROM rowrun.replica_heartbeat h) || (SELECT (to_jsonb(d) - 'last_alive_at')::text FROM rowrun.deployment d)`).Scan(&rows))
		return rows
	}
	before := theirs()
	cases := measure(t, url, "--yes", "--replicas", "2", "steady", "late", "burst")
	for _, name := range []string{"1 replica", "2 replicas"} {
		require.Equal(t, 25, cases["steady"][name].Runs)
		has(t, cases["steady"][name], "start_p50", "start_p99", "end_p99", "inserted")
	}
	require.Equal(t, 20, cases["late"]["1 replica"].Runs)
	has(t, cases["late"]["1 replica"], "late_p50", "late_p95", "late_p99")
	require.Equal(t, 500, cases["burst"]["500 runs"].Runs)
	require.Equal(t, before, theirs())
	rowruntest.Change(t, conn, `UPDATE rowrun.deployment SET stream_replica_id = NULL`)
	require.Zero(t, remains(t, conn))
}

func TestBenchOfWritersLeavesNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	cases := measure(t, url, "insert", "bystander")
	require.Len(t, cases["insert"], 3, "the log too")
	for _, c := range cases["insert"] {
		require.Positive(t, c.Runs, c.Name)
		has(t, c, "rate")
	}
	has(t, cases["insert"]["woken by the log"], "of_copy")
	for _, c := range cases["bystander"] {
		has(t, c, "commits", "commit_p99")
	}
	require.Positive(t, cases["bystander"]["a replica at 200 runs/s"].Runs)
	has(t, cases["bystander"]["an idle replica"], "of_none")
	require.Zero(t, remains(t, rowruntest.Connect(t, url)))
}

func TestBenchOfOneReplicaLeavesNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	cases := measure(t, url, "--duration", "40ms", "idle", "pinned")
	require.Equal(t, 100, cases["idle"]["after 100 runs"].Runs)
	has(t, cases["idle"]["since its start"], "memory", "memory_peak")
	for _, name := range []string{"fresh", "an old snapshot held", "after 200 ended runs"} {
		require.Equal(t, 100, cases["pinned"][name].Runs)
		has(t, cases["pinned"][name], "rate")
	}
	has(t, cases["pinned"]["an old snapshot held"], "of_fresh")
	require.Zero(t, remains(t, rowruntest.Connect(t, url)))
}

func TestBenchRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	refuses := func(code int, words string, args ...string) {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"bench"}, args...)...)
		require.Equal(t, code, got.Code, got.Stderr)
		require.Contains(t, got.Stderr, words)
		require.Empty(t, got.Stdout)
	}
	refuses(cli.ExitUsage, `"drian" can't be measured; accepted: drain, steady, late, gated, insert, burst, bystander, idle, pinned`, "drian")
	refuses(cli.ExitUsage, `--shape: "round" is not accepted; accepted: plain, databases, plans, chain`, "--shape", "round")
	refuses(cli.ExitUsage, `--runs: 99 is not accepted; accepted: 100 to 10000000`, "--runs", "99")
	refuses(cli.ExitUsage, `--rounds: 0 is not accepted; accepted: 1 to 99`, "--rounds", "0")
	refuses(cli.ExitUsage, `--duration: 0s is not accepted; accepted: 10ms to 24h`, "--duration", "0")
	refuses(cli.ExitUsage, `--clean measures nothing`, "--clean", "idle")

	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'MINE')`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	refuses(cli.ExitFailed, "1 runs that have not ended", "burst")
	rowruntest.Change(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED'`)
	rowruntest.Change(t, conn, `DELETE FROM rowrun.task_run`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat) VALUES ('theirs', now())`)
	refuses(cli.ExitFailed, "1 replicas that are live", "burst")
	rowruntest.Change(t, conn, `DELETE FROM rowrun.replica_heartbeat`)
	rowruntest.Change(t, conn, `SELECT pg_advisory_lock(1920298607, 5)`)
	refuses(cli.ExitFailed, "another rowrun bench runs in this database", "burst")
	refuses(cli.ExitFailed, "another rowrun bench runs in this database", "--clean")
	rowruntest.Change(t, conn, `SELECT pg_advisory_unlock(1920298607, 5)`)
	rowruntest.Change(t, conn, `CREATE ROLE bench_viewer LOGIN IN ROLE rowrun_viewer`)
	t.Cleanup(func() { _, _ = conn.Exec(context.Background(), `DROP ROLE bench_viewer`) })
	refuses(cli.ExitFailed, "bench needs the role that owns Rowrun's tables", "burst", "--database-url", url+"&user=bench_viewer")
	require.Zero(t, remains(t, conn))

	variables["DATABASE_URL"] = storetest.Empty(t)
	refuses(cli.ExitFailed, "run `rowrun migrate up`", "burst")
}

func TestBenchThatIsInterruptedCleansUp(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan rowruntest.Outcome, 1)
	go func() {
		ended <- rowrun(ctx, t, map[string]string{"DATABASE_URL": url}, "bench", "drain", "--shape", "chain", "--runs", "2000", "--rounds", "99")
	}()
	rowruntest.Eventually(t, "a run of the bench is under way or over", func() bool {
		var some bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM rowrun.task_run WHERE started_at IS NOT NULL)`).Scan(&some))
		return some
	})
	interrupt()
	got := <-ended
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "rowrun: interrupted\n")
	require.Zero(t, remains(t, conn))
}

func TestBenchThatWasKilledIsCleanedUp(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	program, err := os.Executable()
	require.NoError(t, err)
	killed := exec.CommandContext(t.Context(), program, "bench", "drain", "--shape", "chain", "--runs", "2000", "--rounds", "99")
	killed.Env = append(os.Environ(), "ROWRUN_DATABASE_URL="+url)
	require.NoError(t, killed.Start())
	rowruntest.Eventually(t, "a run of the bench is under way or over", func() bool {
		var some bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM rowrun.task_run WHERE started_at IS NOT NULL)`).Scan(&some))
		return some
	})
	require.NoError(t, killed.Process.Kill())
	require.Error(t, killed.Wait())
	require.Positive(t, remains(t, conn))

	// The server notices in its own time that the session which held the lock is gone.
	var got rowruntest.Outcome
	rowruntest.Eventually(t, "the lock is free", func() bool {
		got = rowrun(t.Context(), t, variables, "bench", "burst")
		return !strings.Contains(got.Stderr, "another rowrun bench runs")
	})
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Regexp(t, "a bench that was killed left rowrun_bench_[0-9a-f]{8} behind: run `rowrun bench --clean` first", got.Stderr)
	got = rowrun(t.Context(), t, variables, "bench", "--clean")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Regexp(t, `^removed rowrun_bench_[0-9a-f]{8}\n$`, got.Stdout)
	require.Zero(t, remains(t, conn))
	got = rowrun(t.Context(), t, variables, "bench", "--clean", "-o", "json")
	require.JSONEq(t, `{"removed": []}`, got.Stdout, got.Stderr)
}
