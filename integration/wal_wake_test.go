package integration_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	logWakeChanged = "wake source changed"
	logPooler      = "notifications do not arrive, most likely through a pooler in transaction mode: runs are found by sweeps, " +
		"and this replica writes no stream; set --direct-url to the server itself"
)

// awaitWake waits until the row of the only live replica says how it is woken.
func (d *database) awaitWake(t *testing.T, source string) {
	t.Helper()
	eventually(t, patience, "woken by "+source, func() bool {
		found := list[string](t, d, "SELECT coalesce(wake_source, '') FROM rowrun.replica_status WHERE live")
		return len(found) == 1 && found[0] == source
	})
}

// waits are how long n single runs waited for their start, at most.
func (d *database) waits(t *testing.T, task int64, n int) (longest time.Duration) {
	t.Helper()
	for range n {
		done := d.await(t, d.run(t, task), "DONE")
		longest = max(longest, done.StartedAt.Sub(done.CreatedAt))
	}
	return longest
}

// A pooler in transaction mode is found out, said, and answered by sweeps; when notifications arrive after all, the
// replica hears them without a restart.
func TestPoolerIsAnsweredByPollingAndAskedAgain(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, all := newProxy(t, d.url, nil), "*"
	p.withhold.Store(&all)
	r := launch(t, p.url, []string{"--sweep-interval", "300ms"})
	task := d.task(t, "NOOP", `{}`, nil)
	d.awaitWake(t, "poll")
	r.log.await(t, 1, logPooler)
	require.Positive(t, p.withheld.Load(), "the fault: a notification was kept back")
	require.Less(t, d.waits(t, task, 5), 300*time.Millisecond+4*time.Second, "less than a sweep of the default")
	require.Empty(t, r.log.find(logListening))
	require.Empty(t, r.log.find(logWrites), "a session lock through a pooler would be anybody's")

	p.withhold.Store(nil)
	d.awaitWake(t, "notify")
	r.log.await(t, 1, logListening)
	r.log.await(t, 1, logWrites)
	require.Len(t, r.log.find(logPooler), 1)
}

// With a way to the server itself nothing waits for a sweep.
func TestDirectURLGivesFullSpeedBehindAPooler(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, all := newProxy(t, d.url, nil), "*"
	p.withhold.Store(&all)
	r := serve(t, p.url, rareSweeps(), []string{"--direct-url", d.url, "--stream-source", "wal"})
	d.awaitWake(t, "wal")
	t.Logf("insert to start at most %s", d.waits(t, d.task(t, "NOOP", `{}`, nil), 20))
	require.Empty(t, r.log.find(logPooler))
	r.signal(t, syscall.SIGTERM)
	require.Zero(t, r.wait(t))
}

// Each source alone wakes, with sweeps 10 min apart; a switch that is announced loses nothing.
func TestRunsStartWhateverWakes(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"wal", "notify"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			serve(t, d.url, rareSweeps(), []string{"--stream-source", "wal", "--wake", source})
			d.awaitWake(t, source)
			task := d.task(t, "NOOP", `{}`, nil)
			t.Logf("insert to start at most %s", d.waits(t, task, 50))
			if source != "wal" {
				return
			}
			// The source fails with an error, again and again, in the midst of inserts.
			for range 3 {
				d.exec(t, `SELECT pg_terminate_backend(s.active_pid) FROM pg_replication_slots s, rowrun.deployment p
					WHERE s.slot_name = 'rowrun_stream_' || left(p.id::text, 8) AND s.active`)
				t.Logf("insert to start at most %s over a switch", d.waits(t, task, 30))
			}
			d.awaitWake(t, "wal")
		})
	}
}

// A writer that stops hands over: who is left is woken all the time.
func TestWakeSourceIsHandedOver(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	first := serve(t, d.url, rareSweeps(), []string{"--stream-source", "wal", "--replica-name", "first"})
	d.awaitWake(t, "wal")
	second := serve(t, d.url, rareSweeps(), []string{"--stream-source", "wal", "--replica-name", "second"})
	task := d.task(t, "NOOP", `{}`, nil)
	first.signal(t, syscall.SIGTERM)
	longest := d.waits(t, task, 100)
	require.Zero(t, first.wait(t))
	d.awaitWake(t, "wal")
	longest = max(longest, d.waits(t, task, 20))
	t.Logf("insert to start at most %s over the hand-over", longest)
	eventually(t, patience, "a line of the change", func() bool {
		changes := second.log.find(logWakeChanged)
		return len(changes) > 0 && strings.Contains(changes[len(changes)-1].text, strconv.Quote("wal"))
	})
}
