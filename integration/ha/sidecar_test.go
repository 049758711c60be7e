//go:build ha && linux

package ha

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// entry is one call of an app: a run that a sidecar took.
type entry struct {
	sidecar string
	run     int64
	at      time.Time
}

// ledger is what the apps were called for; it knows nothing of any database.
type ledger struct {
	mu      sync.Mutex
	entries []entry
}

func (l *ledger) note(sidecar string, run int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entry{sidecar, run, time.Now()})
}

// since are the calls after a moment, of all sidecars or the ones named.
func (l *ledger) since(at time.Time, sidecars ...string) []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []entry
	for _, e := range l.entries {
		if e.at.After(at) && (len(sidecars) == 0 || slices.Contains(sidecars, e.sidecar)) {
			found = append(found, e)
		}
	}
	return found
}

// sidecar is a process of rowrun serve with its app, in a namespace of their own.
type sidecar struct {
	host
	out, log string
	list     []host // of nodes, as its address names them
}

func newSidecar(t *testing.T, dir, binary string, h host, c *cluster, first int, l *ledger) *sidecar {
	t.Helper()
	app := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if id, err := strconv.ParseInt(r.Header.Get("Rowrun-Run-Id"), 10, 64); err == nil {
			l.note(h.name, id)
		}
	})}
	listener := listen(t, h.netns(), "127.0.0.1:9000")
	go func() { _ = app.Serve(listener) }()
	t.Cleanup(func() { _ = app.Close() })
	s := &sidecar{host: h, out: filepath.Join(dir, h.name+".out"), log: filepath.Join(dir, h.name+".log"), list: c.from(first)}
	start(t, h.netns(), s.log, []string{"HOSTNAME=" + h.name, "DATABASE_URL=" + c.url("sidecar", first)},
		"sh", "-c", `exec "$0" "$@" >>`+s.out, binary, "serve", "--http-addr", "off", "--app-url", "http://127.0.0.1:9000",
		"--heartbeat-interval", "1s", "--stale-after", "5s", "--stale-sweep-interval", "1s", "--sweep-interval", "1s")
	return s
}

// line is one of the stream.
type line struct {
	Event, Reason, To string
	RunID             int64  `json:"run_id"`
	Code              string `json:"code"`
}

func (s *sidecar) stream(t *testing.T) []line {
	t.Helper()
	data, err := os.ReadFile(s.out)
	require.NoError(t, err)
	var all []line
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) == nil {
			all = append(all, l)
		}
	}
	return all
}

// gaps are the reasons of the gap lines of all sidecars.
func (w *world) gaps(t *testing.T) (reasons []string) {
	t.Helper()
	for _, s := range w.sidecars {
		for _, l := range s.stream(t) {
			if l.Event == "stream.gap" {
				reasons = append(reasons, l.Reason)
			}
		}
	}
	return reasons
}

// ended are the runs whose end stands in a stream.
func (w *world) ended(t *testing.T) map[int64]bool {
	t.Helper()
	runs := map[int64]bool{}
	for _, s := range w.sidecars {
		for _, l := range s.stream(t) {
			if l.Event == "task_run.done" || l.Event == "task_run.failed" {
				runs[l.RunID] = true
			}
		}
	}
	return runs
}

// asks says whether it tries one node before another.
func (s *sidecar) asks(first, before host) bool {
	return slices.Index(s.list, first) < slices.Index(s.list, before)
}

func (s *sidecar) said(t *testing.T, message string) int {
	t.Helper()
	data, err := os.ReadFile(s.log)
	require.NoError(t, err)
	return strings.Count(string(data), message)
}

func sorted[K int64 | string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
