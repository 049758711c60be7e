//go:build ha && linux

package ha

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// soon is how long after a promotion work must go on.
const soon = 5 * time.Second

func TestMain(m *testing.M) {
	code, err := alone(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ha:", err)
		code = 1
	}
	os.Exit(code)
}

// alone waits for another run on this machine, and leaves nothing behind.
func alone(run func() int) (code int, err error) {
	lock, err := os.OpenFile("/run/"+prefix+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return 1, fmt.Errorf("namespaces want root: %w", err)
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return 1, err
	}
	if err := sweep(); err != nil {
		return 1, err
	}
	code = run()
	return code, sweep()
}

// working waits until each of these sidecars has taken a run after a moment, and returns how long the first and the last took.
func (w *world) working(t *testing.T, at time.Time, but []string) (first, last time.Duration) {
	t.Helper()
	for _, s := range w.sidecars {
		if slices.Contains(but, s.name) {
			continue
		}
		var took []entry
		eventually(t, patience, s.name+" works", func() bool {
			took = w.ledger.since(at, s.name)
			return len(took) > 0
		})
		d := took[0].at.Sub(at)
		if first == 0 || d < first {
			first = d
		}
		last = max(last, d)
	}
	return first, last
}

// scenario has a fault strike under load and holds what comes of it against the promises.
func (w *world) scenario(t *testing.T, synchronous bool, f fault) {
	t.Helper()
	w.mode(t, synchronous)
	old := w.healthy(t, synchronous)
	_, before, err := w.state(t.Context(), hub, old.addr)
	require.NoError(t, err)
	w.load.pause(false)
	w.working(t, time.Now(), nil)
	gaps := w.gaps(t)
	require.Len(t, gaps, before-1, "a gap for each promotion, and no other")

	struck := time.Now()
	seen := make(chan time.Time, 1)
	go func() {
		defer close(seen)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for end := struck.Add(patience); time.Now().Before(end); <-tick.C {
			if _, _, err := w.primary(t.Context(), old.name); err == nil {
				seen <- time.Now()
				return
			}
		}
	}()
	f.strike(t, w, old)
	promoted, ok := <-seen
	require.True(t, ok, "another primary")
	primary, timeline, _ := w.promoted(t, old)
	require.Equal(t, before+1, timeline, "the fault: a promotion")
	first, last := w.working(t, promoted, f.cut)
	t.Logf("%s -> %s, timeline %d: promoted %s after the fault, the first run %s after that, the last sidecar's %s",
		old.name, primary.name, timeline, promoted.Sub(struck).Round(10*time.Millisecond), first.Round(time.Millisecond), last.Round(time.Millisecond))
	require.LessOrEqual(t, first, soon, "work goes on")

	f.heal(t, w, old)
	require.NotEqual(t, old.name, w.healthy(t, synchronous).name)
	w.working(t, time.Now(), nil) // those that were cut off too
	w.load.pause(true)
	w.settle(t, synchronous, primary)
	if len(f.cut) > 0 {
		w.orphans(t, synchronous, primary, f, struck)
	}
	eventually(t, patience, "a gap line: the standby had no slot", func() bool { return len(w.gaps(t)) > len(gaps) })
	require.Contains(t, w.gaps(t), fmt.Sprintf("the server's timeline changed from %d to %d", before, timeline))
	require.Len(t, w.gaps(t), len(gaps)+1, "one promotion, one gap: %q", w.gaps(t))
}

// orphans lists what the sidecars that were cut off took and nobody else knows of.
func (w *world) orphans(t *testing.T, synchronous bool, primary host, f fault, struck time.Time) {
	t.Helper()
	conn := w.connect(t, primary, hub, primary.addr)
	var orphans []int64
	calls := w.ledger.since(struck, f.cut...)
	for _, e := range calls {
		var known bool
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM rowrun.task_run WHERE id = $1 AND replica_id LIKE $2 || '-%')",
			e.run, e.sidecar).Scan(&known))
		if !known {
			orphans = append(orphans, e.run)
		}
	}
	t.Logf("cut off together with the old primary, %v took %d runs that the new primary doesn't know as theirs: %v; inserts acknowledged there: %v",
		f.cut, len(orphans), orphans, w.stray)
	if synchronous {
		require.Empty(t, orphans, "no claim is acknowledged without the standby")
		require.Empty(t, w.stray, "and no insert")
		return
	}
	require.NotEmpty(t, w.stray, "the old primary went on until it was demoted")
	require.NotEmpty(t, orphans, "and so did the sidecar beside it")
}

// settle waits until all work is done, and looks for what was acknowledged.
func (w *world) settle(t *testing.T, synchronous bool, primary host) {
	t.Helper()
	conn := w.connect(t, primary, hub, primary.addr)
	eventually(t, patience, "everything that was inserted ends", func() bool {
		var open int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING')").Scan(&open)
		return err == nil && open == 0
	})
	acked := w.load.taken()
	var lost, undone []int64
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT coalesce(array_agg(a.id) FILTER (WHERE r.id IS NULL), '{}'),
		coalesce(array_agg(a.id) FILTER (WHERE r.id IS NOT NULL AND j.status IS DISTINCT FROM 'DONE'), '{}')
		FROM unnest($1::bigint[]) a(id) LEFT JOIN rowrun.task_run r ON r.id = a.id LEFT JOIN rowrun.job j ON j.root_id = r.root_id`, acked).Scan(&lost, &undone))
	calls := map[int64]int{}
	for _, e := range w.ledger.since(time.Time{}) {
		calls[e.run]++
	}
	repeated := 0
	for _, n := range calls {
		if n > 1 {
			repeated++
		}
	}
	t.Logf("%d runs acknowledged, %d inserts failed, %d lost, %d called more than once", len(acked), w.load.failed, len(lost), repeated)
	require.Empty(t, undone, "each job ends DONE")
	if synchronous {
		require.Empty(t, lost, "nothing acknowledged is lost")
		for _, id := range acked {
			require.Positive(t, calls[id], "run %d is in the ledger", id)
		}
	}
	told := func() (missing []int64) {
		ended := w.ended(t)
		for _, id := range acked {
			if !ended[id] && !slices.Contains(lost, id) {
				missing = append(missing, id)
			}
		}
		return missing
	}
	var missing []int64
	defer func() {
		if len(missing) > 0 {
			t.Logf("not told: %v", missing)
		}
	}()
	eventually(t, 30*time.Second, "the stream tells the end of each", func() bool { missing = told(); return len(missing) == 0 })
}

// Each scenario begins with the cluster that the one before has healed, so the first that fails ends the test.
func TestFailover(t *testing.T) { //nolint:paralleltest // names and addresses are the machine's
	w := newWorld(t)
	for _, s := range []struct {
		name        string
		synchronous bool
		fault       fault
	}{
		{"synchronous switchover", true, switchover()},
		{"synchronous killed", true, killed()},
		{"synchronous partitioned", true, partitioned()},
		{"synchronous partitioned with a sidecar", true, partitioned("s1")},
		{"synchronous frozen", true, frozen()},
		{"asynchronous switchover", false, switchover()},
		{"asynchronous killed", false, killed()},
		{"asynchronous partitioned with a sidecar", false, partitioned("s1")},
	} {
		if !t.Run(s.name, func(t *testing.T) { w.scenario(t, s.synchronous, s.fault) }) { //nolint:paralleltest // one cluster
			return
		}
	}
}
