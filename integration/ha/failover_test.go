//go:build ha && linux

package ha

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// soon is how long after a promotion work must go on.
const soon = 5 * time.Second

// world is one cluster with its sidecars and their load.
type world struct {
	*cluster
	sidecars []*sidecar
	ledger   *ledger
	load     *load
	task     int64
	stray    []int64 // ids that a primary acknowledged while it was cut off
}

func TestMain(m *testing.M) {
	if err := sweep(); err != nil {
		fmt.Fprintln(os.Stderr, "ha:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := sweep(); err != nil {
		fmt.Fprintln(os.Stderr, "ha:", err)
		code = 1
	}
	os.Exit(code)
}

// scratch is kept where the test fails and ROWRUN_HA_KEEP is set.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", prefix+"-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() {
		_ = sweep()
		if t.Failed() && os.Getenv("ROWRUN_HA_KEEP") != "" {
			t.Logf("logs: %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

func newWorld(t *testing.T) *world {
	t.Helper()
	require.Zero(t, os.Getuid(), "namespaces want root")
	dir := scratch(t)
	nodes := []host{{"n1", "10.77.0.11"}, {"n2", "10.77.0.12"}, {"n3", "10.77.0.13"}}
	beside := []host{{"s1", "10.77.0.21"}, {"s2", "10.77.0.22"}, {"s3", "10.77.0.23"}}
	makeNetwork(t, append(slices.Clone(nodes), beside...)...)
	binary := os.Getenv("ROWRUN_BINARY")
	if binary == "" {
		binary = filepath.Join(dir, "rowrun")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "github.com/rowrun/rowrun/cmd/rowrun")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	w := &world{cluster: newCluster(t, dir, nodes), ledger: &ledger{}}
	leader := w.prepare(t)
	w.rowrun(t, leader, binary, "migrate", "up")
	conn := w.connect(t, leader, hub, leader.addr)
	_, err := conn.Exec(t.Context(), "CREATE ROLE sidecar LOGIN REPLICATION IN ROLE rowrun_replica")
	require.NoError(t, err)
	require.NoError(t, conn.QueryRow(t.Context(), `INSERT INTO rowrun.task (name, type, payload, on_stale, max_attempts, retry_delay)
		VALUES ('call', 'HTTP', '{"path": "/"}', 'RETRY', 5, '1s') RETURNING id`).Scan(&w.task))
	url := w.url("sidecar")
	for _, h := range beside {
		w.sidecars = append(w.sidecars, newSidecar(t, dir, binary, h, url, w.ledger))
	}
	eventually(t, patience, "a writer of the stream with its slot", func() bool {
		return slices.ContainsFunc(w.sidecars, func(s *sidecar) bool { return s.said(t, "made the stream's replication slot") > 0 })
	})
	writer, err := pgx.ParseConfig(w.url("postgres"))
	require.NoError(t, err)
	writer.DialFunc = dialer(hub)
	w.load = newLoad(t, writer, w.task)
	return w
}

// url names every node: whichever takes writes is the one.
func (c *cluster) url(user string) string {
	var hosts []string
	for _, n := range c.nodes {
		hosts = append(hosts, n.addr+":5432")
	}
	return "postgres://" + user + "@" + strings.Join(hosts, ",") + "/app?sslmode=disable&connect_timeout=1&target_session_attrs=read-write"
}

// prepare makes the database, once there is a primary.
func (w *world) prepare(t *testing.T) (leader host) {
	t.Helper()
	eventually(t, patience, "a leader", func() bool {
		for _, m := range w.members(t.Context()) {
			if m.Role == "leader" && m.State == "running" {
				leader = w.node(m.Name)
			}
		}
		return leader.name != ""
	})
	out, err := exec.Command("ip", append([]string{"netns", "exec", leader.netns()}, w.as(filepath.Join(w.bin, "psql"), "-X", "-q",
		"-h", "127.0.0.1", "-d", "postgres", "-c", "CREATE DATABASE app")...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return w.healthy(t, true)
}

func (w *world) rowrun(t *testing.T, n host, binary string, args ...string) {
	t.Helper()
	cmd := exec.Command("ip", append([]string{"netns", "exec", n.netns(), binary}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp", "DATABASE_URL=" + w.url("postgres")}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "rowrun %v: %s", args, out)
}

// fault is what happens to the primary.
type fault struct {
	strike func(t *testing.T, w *world, old host)
	heal   func(t *testing.T, w *world, old host)
	cut    []string // sidecars that share the old primary's fate
}

func switchover() fault {
	return fault{
		strike: func(t *testing.T, w *world, old host) {
			w.patronictl(t, old, "switchover", "rowrun", "--master", old.name, "--force")
		},
		heal: func(*testing.T, *world, host) {},
	}
}

func killed() fault {
	return fault{
		strike: func(t *testing.T, w *world, old host) {
			w.crash(t, old)
			_, _, err := w.state(t.Context(), old.netns(), "127.0.0.1")
			require.Error(t, err, "the fault: nobody answers in the old primary's place")
		},
		heal: func(t *testing.T, w *world, old host) { w.run(t, old) },
	}
}

// partitioned cuts the primary off, and these sidecars with it.
func partitioned(with ...string) fault {
	hosts := func(w *world, old host) []host {
		all := []host{old}
		for _, s := range w.sidecars {
			if slices.Contains(with, s.name) {
				all = append(all, s.host)
			}
		}
		return all
	}
	return fault{
		cut: with,
		strike: func(t *testing.T, w *world, old host) {
			cutOff(t, hosts(w, old)...)
			_, _, err := w.state(t.Context(), hub, old.addr)
			require.Error(t, err, "the fault: the old primary can't be reached")
			standby, _, err := w.state(t.Context(), old.netns(), "127.0.0.1")
			require.NoError(t, err, "the fault: it lives")
			require.False(t, standby, "the fault: it is still a primary")
			for _, name := range with {
				standby, _, err := w.state(t.Context(), prefix+"-"+name, old.addr)
				require.NoError(t, err, "the fault: %s reaches it", name)
				require.False(t, standby)
			}
			w.insertUntilDemoted(t, old)
		},
		heal: func(t *testing.T, w *world, old host) { rejoin(t, hosts(w, old)...) },
	}
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
		for end := struck.Add(patience); time.Now().Before(end); {
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

// insertUntilDemoted works beside a primary that was cut off, and keeps what it acknowledges.
func (w *world) insertUntilDemoted(t *testing.T, old host) {
	t.Helper()
	w.stray = nil
	began, beside := time.Now(), config(old.netns(), "127.0.0.1")
	l := newLoad(t, beside, w.task)
	eventually(t, patience, "the old primary's demotion", func() bool {
		standby, _, err := w.state(t.Context(), old.netns(), "127.0.0.1")
		return err != nil || standby // it takes no more connections while it shuts down
	})
	l.end()
	w.stray = l.taken()
	t.Logf("the old primary was demoted %s after it was cut off", time.Since(began).Round(10*time.Millisecond))
}

// frozen is a primary that doesn't learn of its successor: its Patroni is stopped, and it comes back as it was.
func frozen() fault {
	return fault{
		strike: func(t *testing.T, w *world, old host) {
			_, before, err := w.state(t.Context(), hub, old.addr)
			require.NoError(t, err)
			w.freeze(t, old)
			cutOff(t, old)
			primary, _, _ := w.promoted(t, old)
			w.working(t, time.Now(), nil)
			rejoin(t, old)
			zombie := w.connect(t, old, hub, old.addr)
			standby, timeline, err := w.state(t.Context(), hub, old.addr)
			require.NoError(t, err)
			require.False(t, standby, "the fault: the old primary takes writes")
			require.Equal(t, before, timeline, "the fault: in the old history")
			var bait int64
			_, err = zombie.Exec(t.Context(), "SET synchronous_commit = local")
			require.NoError(t, err)
			require.NoError(t, zombie.QueryRow(t.Context(), "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", w.task).Scan(&bait))

			conn := w.connect(t, primary, hub, primary.addr)
			_, err = conn.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'sidecar'")
			require.NoError(t, err)
			for _, s := range w.sidecars {
				eventually(t, patience, s.name+" refuses the old primary", func() bool { return s.said(t, "an old primary") > 0 })
			}
			w.working(t, time.Now(), nil)
			var status string
			require.NoError(t, zombie.QueryRow(t.Context(), "SELECT status FROM rowrun.task_run WHERE id = $1", bait).Scan(&status))
			require.Equal(t, "AVAILABLE", status, "nobody works for the old primary")
			var kept int
			require.NoError(t, zombie.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE usename = 'sidecar'
				AND backend_start < now() - interval '1 s'`).Scan(&kept))
			require.Zero(t, kept, "no session of a sidecar stays at the old primary")
		},
		heal: func(t *testing.T, w *world, old host) { w.crash(t, old); w.run(t, old) },
	}
}

// The order matters: each scenario begins with the cluster that the one before has healed.
func TestFailover(t *testing.T) {
	w := newWorld(t)
	for _, mode := range []struct {
		name        string
		synchronous bool
	}{{"synchronous", true}, {"asynchronous", false}} {
		if !mode.synchronous {
			w.patronictl(t, w.nodes[0], "edit-config", "rowrun", "--set", "synchronous_mode=false", "--force")
		}
		for _, f := range []struct {
			name string
			fault
		}{
			{"switchover", switchover()}, {"killed", killed()}, {"partitioned", partitioned()}, {"partitioned with a sidecar", partitioned("s1")}, {"frozen", frozen()},
		} {
			if !mode.synchronous && (f.name == "frozen" || f.name == "partitioned") {
				continue // the one asks nothing of the mode, the other is part of the one with a sidecar
			}
			t.Run(mode.name+" "+f.name, func(t *testing.T) {
				if f.name == "frozen" { // the first one in the sidecars' list
					w.lead(t, w.nodes[0])
				}
				w.scenario(t, mode.synchronous, f.fault)
			})
		}
	}
}

// lead makes a node the primary.
func (w *world) lead(t *testing.T, n host) {
	t.Helper()
	old := w.healthy(t, true)
	if old.name == n.name {
		return
	}
	gaps := len(w.gaps(t))
	w.load.pause(false)
	// Only the synchronous standby may be asked.
	for range 2 {
		for _, m := range w.members(t.Context()) {
			if m.Role == "sync_standby" && old.name != n.name {
				want := m.Name
				w.patronictl(t, old, "switchover", "rowrun", "--master", old.name, "--candidate", want, "--force")
				eventually(t, patience, "the switchover", func() bool { return w.healthy(t, true).name == want })
				gaps++
				eventually(t, patience, "its gap line", func() bool { return len(w.gaps(t)) >= gaps })
				old = w.node(want)
			}
		}
	}
}
