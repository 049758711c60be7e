package integration_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// lastRelease is the program of the newest tag, built from the repository; in a clone without tags that of the commit
// which last made the dump of the newest release's schema; this program where there is no repository (an archive).
func lastRelease(t *testing.T) (path, tag string) {
	t.Helper()
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", ".."}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	tag, err := git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")
	if err != nil {
		tag, err = git("log", "-1", "--format=%h", "--", "migrations/testdata/schema-v*.sql")
	}
	if err != nil || tag == "" {
		return program.path, "none"
	}
	dir := t.TempDir()
	_, err = git("archive", "--output", filepath.Join(dir, "tree.tar"), tag)
	require.NoError(t, err)
	path = filepath.Join(dir, "rowrun")
	build := exec.CommandContext(t.Context(), "sh", "-ec", `tar -xf tree.tar && go build -buildvcs=false -o "$1" ./cmd/rowrun`, "sh", path)
	build.Dir = dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path, tag
}

// serveAs starts a replica of another program.
func serveAs(t *testing.T, path, url, name string, args ...string) *replica {
	t.Helper()
	cmd := exec.Command(path, append([]string{"serve", "--http-addr", "off", "--replica-name", name}, args...)...) //nolint:noctx // killed by cleanup
	cmd.Env = append(environment(), "DATABASE_URL="+url)
	r := spawn(t, cmd)
	r.log.await(t, 1, logListening)
	return r
}

// Gates that rows tell of, when all has ended: what was promoted beside another run of its database, before an earlier
// version had ended, or beyond its plan's limit.
const violations = `
SELECT 'two at once on ' || a.database_id FROM rowrun.task_run a JOIN rowrun.task_run b ON b.database_id = a.database_id AND b.id <> a.id
WHERE a.version IS NOT NULL AND b.version IS NOT NULL AND b.available_at >= a.available_at AND b.available_at < a.finished_at
UNION ALL
SELECT 'version ' || b.version || ' before ' || a.version FROM rowrun.task_run a JOIN rowrun.task_run b ON b.database_id = a.database_id AND b.plan_id = a.plan_id
WHERE rowrun.version_key(a.version) < rowrun.version_key(b.version) AND b.available_at < a.finished_at
UNION ALL
SELECT 'plan ' || a.plan_id || ' has ' || count(*) FROM rowrun.task_run a JOIN rowrun.plan p ON p.id = a.plan_id
JOIN rowrun.task_run b ON b.plan_id = a.plan_id AND b.available_at <= a.available_at AND b.finished_at > a.available_at
WHERE p.parallel_limit IS NOT NULL GROUP BY a.id, a.plan_id, p.parallel_limit HAVING count(*) > p.parallel_limit`

// A deployment goes from the release before to this program under load, replica by replica, with the schema brought up by
// a command before or by the first replica that comes: no INSERT fails or waits for a lock for 2 s, no run is lost, no
// gate is violated, and replicas of both releases run runs beside each other.
func TestUpgradeFromTheLastReleaseUnderLoad(t *testing.T) {
	t.Parallel()
	before, tag := lastRelease(t)
	t.Logf("the release before: %s", tag)
	for round := range storetest.Count(2, 20) {
		withCommand := round%2 == 0
		t.Run(map[bool]string{true: "migrate up first", false: "serve --migrate"}[withCommand], func(t *testing.T) {
			d := openDatabase(t, storetest.Empty(t))
			variables := []string{"DATABASE_URL=" + d.url}
			up := exec.CommandContext(t.Context(), before, "migrate", "up")
			up.Env = append(environment(), variables...)
			out, err := up.CombinedOutput()
			require.NoError(t, err, "%s", out)
			old := []*replica{serveAs(t, before, d.url, "old-1"), serveAs(t, before, d.url, "old-2")}

			told := whoIsWaitedFor(t, d)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("who was waited for:\n%s", strings.Join(told(), "\n"))
				}
			})
			load := insertUntil(t, d)
			ranBy := func(name string) bool {
				return ask[bool](t, d, `SELECT EXISTS (SELECT 1 FROM rowrun.task_run WHERE status = 'DONE' AND replica_id LIKE $1 || '-%')`, name)
			}
			eventually(t, patience, "runs ended by both of the old", func() bool { return ranBy("old-1") && ranBy("old-2") })
			var args []string
			if withCommand {
				code, out := rowrun(t, variables, "migrate", "up")
				require.Zero(t, code, out)
			} else {
				args = []string{"--migrate"}
			}
			migrated := ask[time.Time](t, d, `SELECT clock_timestamp()`)
			for i, name := range []string{"new-1", "new-2"} {
				serveAs(t, program.path, d.url, name, args...)
				eventually(t, patience, "runs ended by the new one beside an old one", func() bool {
					return ranBy(name) && ask[bool](t, d, `SELECT EXISTS (SELECT 1 FROM rowrun.task_run WHERE replica_id LIKE 'old-2-%' AND started_at > $1)`, migrated)
				})
				old[i].signal(t, syscall.SIGTERM)
				require.Zero(t, old[i].wait(t))
			}

			inserted := load()
			require.Positive(t, inserted)
			eventually(t, 2*patience, "every run ended", func() bool {
				return ask[bool](t, d, `SELECT NOT EXISTS (SELECT 1 FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING'))`)
			})
			require.Equal(t, inserted, ask[int64](t, d, `SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`))
			require.Empty(t, list[string](t, d, violations))
			t.Logf("%d runs", inserted)
		})
	}
}

// whoIsWaitedFor looks ten times a second who waits for a lock for longer than half a second, and for whom, until the test ends.
func whoIsWaitedFor(t *testing.T, d *database) func() []string {
	t.Helper()
	const waits = `SELECT concat_ws(' ', clock_timestamp()::time, a.pid, round(extract(epoch FROM clock_timestamp() - a.query_start)::numeric, 2) || ' s', a.wait_event, left(a.query, 60),
	'| behind', b.pid, b.state, round(extract(epoch FROM clock_timestamp() - b.query_start)::numeric, 2) || ' s', b.wait_event, left(regexp_replace(b.query, '\s+', ' ', 'g'), 120))
	FROM pg_stat_activity a CROSS JOIN LATERAL unnest(pg_blocking_pids(a.pid)) p(id) JOIN pg_stat_activity b ON b.pid = p.id
	WHERE a.wait_event_type = 'Lock' AND a.datname = current_database() AND a.query_start < clock_timestamp() - interval '0.5 s'`
	conn, err := pgx.Connect(t.Context(), d.url)
	require.NoError(t, err)
	var told []string
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			rows, err := conn.Query(t.Context(), waits)
			if err != nil {
				return
			}
			found, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return
			}
			told = append(told, found...)
			select {
			case <-t.Context().Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() []string { <-over; return told }
}

// insertUntil has three writers insert runs without gates, with versions of databases, and of plans with a limit, until
// the function that it returns is called, which says how many there are. They wait 2 s for a lock, and fail then. While much waits, those
// whose runs have gates pause: what they insert is to be done before the test ends.
func insertUntil(t *testing.T, d *database) (stop func() int64) {
	t.Helper()
	d.exec(t, `SELECT rowrun.define_task('plain', 'NOOP')`)
	ctx, cancel := context.WithCancel(t.Context())
	var inserted atomic.Int64
	var writers sync.WaitGroup
	for i, text := range []string{
		`SELECT rowrun.run_task('plain') FROM generate_series(1, 3)`,
		`WITH p AS (INSERT INTO rowrun.plan (name) VALUES ('versions') RETURNING id),
		k AS (INSERT INTO rowrun.task (plan_id, name, type, database_id, version, sequential)
			SELECT p.id, 'v' || n, 'NOOP', 'db' || n % 2, '1.' || n, true FROM p, generate_series(1, 6) n RETURNING id)
		INSERT INTO rowrun.task_run (task_id) SELECT id FROM k`,
		`WITH p AS (INSERT INTO rowrun.plan (name, parallel_limit) VALUES ('limit', 2) RETURNING id),
		k AS (INSERT INTO rowrun.task (plan_id, name, type, payload) SELECT p.id, 'n' || n, 'NOOP', '{"sleep": "2ms"}' FROM p, generate_series(1, 6) n RETURNING id)
		INSERT INTO rowrun.task_run (task_id) SELECT id FROM k`,
	} {
		conn, err := pgx.Connect(t.Context(), d.url)
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), `SET lock_timeout = '2s'`)
		require.NoError(t, err)
		writers.Go(func() {
			defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for ; ctx.Err() == nil; <-tick.C {
				var waiting int
				if err := conn.QueryRow(context.WithoutCancel(ctx), `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING'`).Scan(&waiting); err != nil {
					t.Errorf("what waits can't be counted: %v", err)
					return
				}
				if i > 0 && waiting > 300 {
					continue
				}
				tag, err := conn.Exec(context.WithoutCancel(ctx), text)
				if err != nil {
					var server *pgconn.PgError
					if errors.As(err, &server) {
						t.Logf("at %s, in %q, %s, position %d of %q", server.Where, server.Routine, server.Detail, server.InternalPosition, server.InternalQuery)
					}
					t.Errorf("an INSERT failed: %v", err)
					return
				}
				inserted.Add(tag.RowsAffected())
			}
		})
	}
	t.Cleanup(func() { cancel(); writers.Wait() })
	return func() int64 {
		cancel()
		writers.Wait()
		return inserted.Load()
	}
}
