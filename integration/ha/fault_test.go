//go:build ha && linux

package ha

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
				if s.asks(old, primary) {
					eventually(t, patience, s.name+" refuses the old primary", func() bool { return s.said(t, "old primary refused") > 0 })
				}
			}
			w.working(t, time.Now(), nil)
			var status string
			require.NoError(t, zombie.QueryRow(t.Context(), "SELECT status FROM rowrun.task_run WHERE id = $1", bait).Scan(&status))
			require.Equal(t, "AVAILABLE", status, "nobody works for the old primary")
			w.left(t, old)
		},
		heal: func(t *testing.T, w *world, old host) { w.crash(t, old); w.run(t, old) },
	}
}

// left says that no sidecar works with a node: one may ask and be refused. The server keeps sessions that wait for its
// standby, whoever is at their other end, so the sidecars' side tells.
func (w *world) left(t *testing.T, n host) {
	t.Helper()
	const asking, watched = 2 * time.Second, 10 * time.Second
	since, began := map[string]time.Time{}, time.Now()
	eventually(t, patience, "the watch", func() bool {
		for _, s := range w.sidecars {
			for _, end := range connections(t, s.host, n) {
				now := time.Now()
				if _, seen := since[end]; !seen {
					since[end] = now
				}
				require.Less(t, now.Sub(since[end]), asking, "%s keeps a connection to the old primary", s.name)
			}
		}
		return time.Since(began) > watched
	})
}
