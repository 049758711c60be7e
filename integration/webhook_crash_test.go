package integration_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

const crashVariable = "ROWRUN_CRASH_AT"

// crashing is the binary that can be told where to die. It is built when the first test asks.
var crashing struct { //nolint:gochecknoglobals // built once for all tests, as program is
	sync.Mutex
	path string
}

func crashingProgram(t *testing.T) string {
	t.Helper()
	crashing.Lock()
	defer crashing.Unlock()
	if crashing.path == "" {
		path := program.path + "-crashpoints" // in a directory that goes with this process
		compile := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-tags", "crashpoints", "-o", path, "github.com/rowrun/rowrun/cmd/rowrun")
		compile.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := compile.CombinedOutput()
		require.NoError(t, err, "%s", out)
		crashing.path = path
	}
	return crashing.path
}

// serveUntil starts a replica that kills itself at a point.
func serveUntil(t *testing.T, url, point string, flags []string) *replica {
	t.Helper()
	r := &replica{
		cmd:    exec.Command(crashingProgram(t), append([]string{"serve", "--http-addr", "off"}, flags...)...), //nolint:noctx // killed by cleanup
		exited: make(chan struct{}),
		meant:  true,
	}
	r.cmd.Env = append(environment(), "DATABASE_URL="+url, crashVariable+"="+point)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := r.cmd.StderrPipe()
	require.NoError(t, err)
	started := make(chan error)
	go func() {
		defer close(r.exited)
		runtime.LockOSThread() // the kernel's signal goes by the thread that forked
		err := r.cmd.Start()
		started <- err
		if err == nil {
			r.log.follow(log)
			_ = r.cmd.Wait() // how it ended is in ProcessState
		}
	}()
	require.NoError(t, <-started)
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.exited
	})
	return r
}

// requireKilled waits until the process has killed itself.
func (r *replica) requireKilled(t *testing.T) {
	t.Helper()
	r.wait(t)
	status, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "the fault: killed at its point; it said:\n%s", r.log.tail())
}

// requireLeft waits until the server has noticed that a killed replica is gone. A claim that it still carries out would
// take runs of the next plan along, for as long as the dead one's lease.
func (d *database) requireLeft(t *testing.T) {
	t.Helper()
	eventually(t, patience, "the end of the dead replica's sessions", func() bool {
		return ask[int](t, d, "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'rowrun%'") == 0
	})
}

// The sidecar dies again and again between the end that decides an event and the record of its delivery. Each event
// arrives, in copies that are the same and signed, and is decided once.
func TestNoCrashLosesOrDoublesAnEvent(t *testing.T) {
	t.Parallel()
	crashingProgram(t)
	kills := storetest.Count(2, 20)
	for _, point := range []string{"after-end-commit", "after-claim", "before-send", "after-send", "before-record", "after-record"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d, hears := newDatabase(t), newHearer(t)
			d.exec(t, "INSERT INTO rowrun.webhook (url, secret_ref) VALUES ($1, $2)", hears.url, hears.secretRef)
			for range kills {
				plan := d.plan(t, `{"fail": "no"}`, `{}`)
				d.exec(t, "SELECT rowrun.run_plan($1)", plan)
				serveUntil(t, d.url, point, hears.knows()).requireKilled(t)
				d.requireLeft(t)
			}
			finish(t, d, hears, kills)
			copies := 0
			hears.mu.Lock()
			for _, bodies := range hears.bodies {
				copies += len(bodies)
			}
			hears.mu.Unlock()
			t.Logf("%d kills at %s: %d messages in %d copies", kills, point, kills, copies)
		})
	}
}

// The same at moments that nobody chose.
func TestNoKillLosesOrDoublesAnEvent(t *testing.T) {
	t.Parallel()
	d, hears, rng := newDatabase(t), newHearer(t), chance(t)
	d.exec(t, "INSERT INTO rowrun.webhook (url, secret_ref) VALUES ($1, $2)", hears.url, hears.secretRef)
	kills := storetest.Count(5, 100)
	for range kills {
		r := serve(t, d.url, hears.knows())
		d.exec(t, "SELECT rowrun.run_plan($1)", d.plan(t, `{"fail": "no"}`, `{}`))
		pause(t, time.Duration(rng.IntN(30))*time.Millisecond)
		r.kill(t)
	}
	finish(t, d, hears, kills)
}

// finish lets a replica that lives do what is left, and proves that each plan has one event, and that it came. What a
// dead one was running is ended by hand: its lease is a minute. That may be claimed after it died, by a statement that
// the server still had.
func finish(t *testing.T, d *database, hears *hearer, plans int) {
	t.Helper()
	alive := serve(t, d.url, hears.knows()).id(t)
	eventually(t, patience, "the end of every run", func() bool {
		for _, run := range list[int64](t, d, "SELECT id FROM rowrun.task_run WHERE status = 'RUNNING' AND replica_id <> $1", alive) {
			_, err := d.pool.Exec(t.Context(), "SELECT rowrun.abandon_run($1, 'its replica was killed')", run)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != "RR004" { // it may end after it died, too
				require.NoError(t, err)
			}
		}
		return ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING')") == 0
	})
	eventually(t, patience, "an event per plan", func() bool {
		return ask[int](t, d, "SELECT count(*)::int FROM rowrun.webhook_delivery") >= plans
	})
	hears.requireAll(t, d)
	require.Equal(t, plans, ask[int](t, d, "SELECT count(*)::int FROM rowrun.webhook_delivery WHERE round = 1 AND event_type = 'PIPELINE_FAILED'"))
	require.Equal(t, plans, ask[int](t, d, "SELECT count(*)::int FROM rowrun.webhook_delivery"))
	require.Equal(t, plans, ask[int](t, d, "SELECT count(*)::int FROM rowrun.webhook_delivery_log WHERE round = 1"))
}

// The means of the tests above is not in the binary that is shipped.
func TestTheReleasedBinaryHasNoCrashPoints(t *testing.T) {
	t.Parallel()
	for path, has := range map[string]bool{program.path: false, crashingProgram(t): true} {
		binary, err := os.ReadFile(filepath.Clean(path))
		require.NoError(t, err)
		if has {
			require.Contains(t, string(binary), crashVariable)
		} else {
			require.NotContains(t, string(binary), crashVariable)
		}
	}
}
