package scheduler_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// history is what was committed, in the order of commits, read from a slot that was opened before the first insert.
type history struct {
	commits []*commit
	runs    map[int64][]version[runRow]
	tasks   map[int64][]version[taskRow]
	plans   map[int64][]version[planRow]
	deps    map[dependencyRow][]version[dependencyRow]
	// born are the runs in the order in which they came to be, which for those of one task of a plan is the order in
	// which they lived. Ids may have been drawn in another.
	born []int64
}

type commit struct {
	xid     uint64
	changes []change
	// visible: every snapshot taken after this moment sees the commit. The end of time where that isn't known.
	visible time.Time
	// promoted are the runs that it made or inserted AVAILABLE; exact says that it did so under the promotion's lock, so that
	// every later promotion saw it.
	promoted []*runRow
	exact    bool
}

// version is a row as a commit left it; row nil: deleted.
type version[T any] struct {
	at  int // index of the commit
	row *T
}

// probe is a snapshot and a moment after it was taken.
type probe struct {
	at         time.Time
	xmin, xmax uint64
	running    map[uint64]bool
}

func (p probe) sees(xid uint64) bool { return xid < p.xmin || xid < p.xmax && !p.running[xid] }

const slotName = "gates_test"

// recorder opens the slot of a database, and probes snapshots all the time until stop is called.
type historian struct {
	url    string
	slot   string
	mu     sync.Mutex
	probes []probe
}

func newHistorian(t *testing.T, url string) (h *historian, stop func()) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	h = &historian{url: url, slot: slotName + "_" + config.Database[max(0, len(config.Database)-40):]}
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `SELECT pg_create_logical_replication_slot($1, 'test_decoding')`, h.slot)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		for {
			var text string
			var at time.Time
			err := conn.QueryRow(ctx, `SELECT pg_current_snapshot()::text, clock_timestamp()`).Scan(&text, &at)
			if err != nil {
				return
			}
			h.mu.Lock()
			h.probes = append(h.probes, parseProbe(text, at))
			h.mu.Unlock()
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return h, func() {
		cancel()
		wg.Wait()
	}
}

func parseProbe(text string, at time.Time) probe {
	parts := strings.Split(text, ":")
	p := probe{at: at, running: map[uint64]bool{}}
	p.xmin, _ = strconv.ParseUint(parts[0], 10, 64)
	p.xmax, _ = strconv.ParseUint(parts[1], 10, 64)
	for id := range strings.SplitSeq(parts[2], ",") {
		if n, err := strconv.ParseUint(id, 10, 64); err == nil {
			p.running[n] = true
		}
	}
	return p
}

// read replays what the slot holds. An edge that the state machine hasn't is reported at once.
func (h *historian) read(t *testing.T) *history {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), h.url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(t.Context(), `SET timezone = 'UTC'`)
	require.NoError(t, err)
	rows, err := conn.Query(t.Context(), `SELECT xid::text, data FROM pg_logical_slot_get_changes($1, NULL, NULL,
		'include-xids', 'true', 'skip-empty-xacts', 'true')`, h.slot)
	require.NoError(t, err)
	past := &history{
		runs: map[int64][]version[runRow]{}, tasks: map[int64][]version[taskRow]{}, plans: map[int64][]version[planRow]{},
		deps: map[dependencyRow][]version[dependencyRow]{},
	}
	var now *commit
	stands := map[int64]string{}
	for rows.Next() {
		var xid, data string
		require.NoError(t, rows.Scan(&xid, &data))
		switch {
		case strings.HasPrefix(data, "BEGIN"):
			now = &commit{}
			now.xid, err = strconv.ParseUint(xid, 10, 64)
			require.NoError(t, err)
		case strings.HasPrefix(data, "COMMIT"):
			past.commits = append(past.commits, now.inOrder()...)
		case strings.HasPrefix(data, "table rowrun."):
			c, err := parseChange(data)
			require.NoError(t, err)
			if c.table == "task_run" {
				c.was, stands[c.cols.int("id")] = stands[c.cols.int("id")], c.cols["status"]
			}
			now.changes = append(now.changes, c)
		}
	}
	require.NoError(t, rows.Err())
	for i, c := range past.commits {
		c.visible = h.visible(c.xid)
		for _, ch := range c.changes {
			require.NoError(t, past.apply(i, c, ch))
		}
	}
	return past
}

// inOrder takes a transaction that ends runs and then promotes others for two commits: the promotion sees those ends,
// and under its lock, which is held until the commit, so does every later one.
func (c *commit) inOrder() []*commit {
	first := slices.IndexFunc(c.changes, change.promotes)
	if first <= 0 || !slices.ContainsFunc(c.changes[:first], func(ch change) bool {
		return ch.table == "task_run" && oneOf(ch.cols["status"], []string{"DONE", "FAILED", "CANCELED"})
	}) {
		return []*commit{c}
	}
	ends := &commit{xid: c.xid, changes: c.changes[:first]}
	ends.exact = slices.ContainsFunc(c.changes[first:], func(ch change) bool { return ch.promotes() && ch.cols.run().gated() })
	return []*commit{ends, {xid: c.xid, changes: c.changes[first:]}}
}

// promotes says that a change makes a run AVAILABLE, or RUNNING at once.
func (c change) promotes() bool {
	return c.table == "task_run" && (c.cols["status"] == "AVAILABLE" || c.cols["status"] == "RUNNING" && c.was == "PENDING")
}

// claimed counts the runs that were promoted and claimed at once.
func (p *history) claimed() (n int) {
	for _, c := range p.commits {
		for _, r := range c.promoted {
			if r.status == "RUNNING" {
				n++
			}
		}
	}
	return n
}

func (h *historian) visible(xid uint64) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, _ := slices.BinarySearchFunc(h.probes, true, func(p probe, _ bool) int {
		if p.sees(xid) {
			return 0
		}
		return -1
	})
	if i == len(h.probes) {
		return time.Unix(1<<40, 0)
	}
	return h.probes[i].at
}

func (p *history) apply(i int, c *commit, ch change) error {
	gone := ch.op == "DELETE"
	switch ch.table {
	case "plan":
		put(p.plans, ch.cols.int("id"), i, ch.cols.plan(), gone)
	case "task":
		put(p.tasks, ch.cols.int("id"), i, ch.cols.task(), gone)
	case "task_dependency":
		d := dependencyRow{ch.cols.int("task_id"), ch.cols.int("depends_on_id")}
		put(p.deps, d, i, &d, gone)
	case "task_run":
		run := ch.cols.run()
		was := ""
		if old := last(p.runs[run.id]); old != nil {
			was = old.status
		}
		if !gone {
			if !legalEdge(was, run.status) || was == "" && run.status == "AVAILABLE" && run.gated() {
				return fmt.Errorf("run %d went from %q to %s", run.id, was, run.status)
			}
			if run.status == "RUNNING" && run.startedAt.Before(run.availableAt) {
				return fmt.Errorf("run %d started at %s, before it was promoted at %s", run.id, run.startedAt, run.availableAt)
			}
			if oneOf(was, []string{"", "PENDING"}) && run.active() {
				c.promoted = append(c.promoted, run)
				c.exact = c.exact || run.gated()
			}
		}
		if len(p.runs[run.id]) == 0 {
			p.born = append(p.born, run.id)
		}
		put(p.runs, run.id, i, run, gone)
	}
	return nil
}

func legalEdge(from, to string) bool {
	switch from {
	case to:
		return true
	case "":
		return to == "PENDING" || to == "AVAILABLE"
	case "PENDING":
		return to == "AVAILABLE" || to == "RUNNING" || to == "CANCELED" // at once to RUNNING
	case "AVAILABLE":
		return to == "RUNNING" || to == "CANCELED"
	case "RUNNING":
		return to == "DONE" || to == "FAILED" || to == "CANCELED"
	}
	return false
}

func put[K comparable, T any](m map[K][]version[T], key K, at int, row *T, gone bool) {
	if gone {
		row = nil
	}
	if list := m[key]; len(list) > 0 && list[len(list)-1].at == at {
		list[len(list)-1].row = row
		return
	}
	m[key] = append(m[key], version[T]{at, row})
}

func last[T any](list []version[T]) *T {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1].row
}

// sorted gives the keys of a map in order, so that a report names the same run each time.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
