package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// An app makes recurring tasks while it runs. Each finds the state that its last run left, also over the death of its
// replica, changes its own rhythm, and in the end switches itself off.
func TestDynamicSchedulesWithState(t *testing.T) {
	t.Parallel()
	const last = 8
	d := newDatabase(t)
	var mu sync.Mutex
	states := map[string][]string{} // by path, what each run found
	app := httptest.NewServer(http.HandlerFunc(func(resp http.ResponseWriter, req *http.Request) {
		mu.Lock()
		states[req.URL.Path] = append(states[req.URL.Path], req.Header.Get("Rowrun-State"))
		mu.Unlock()
		page := 0
		_, _ = fmt.Sscanf(req.Header.Get("Rowrun-State"), `{"page":%d}`, &page)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		schedule := "@every " + strconv.Itoa(100+10*page) + "ms"
		if page == last {
			schedule = "-"
		}
		if _, err := d.pool.Exec(ctx, "UPDATE rowrun.task SET schedule = $2 WHERE name = $1", req.URL.Path, schedule); err != nil {
			http.Error(resp, "", http.StatusServiceUnavailable)
			return
		}
		resp.Header().Set("Rowrun-State", fmt.Sprintf(`{"page": %d}`, page+1))
	}))
	t.Cleanup(app.Close)
	flags := []string{"--app-url", app.URL}
	doomed := serve(t, d.url, quickLease(), flags)
	paths := []string{"/a", "/b", "/c"}
	for _, path := range paths {
		d.task(t, "HTTP", `{"path": "`+path+`"}`, columns{"name": path, "schedule": "@every 100ms", "on_stale": "RETRY"})
	}
	pages := func() []int {
		return list[int](t, d, "SELECT coalesce((state ->> 'page')::int, 0) FROM rowrun.task ORDER BY name")
	}
	eventually(t, patience, "some pages", func() bool { return pages()[0] >= 2 })
	doomed.kill(t)
	serve(t, d.url, quickLease(), flags)
	eventually(t, patience, "the last page of all", func() bool {
		return ask[int](t, d, "SELECT count(*)::int FROM rowrun.task WHERE schedule = '-' AND (state ->> 'page')::int = $1", last+1) == len(paths)
	})
	eventually(t, patience, "the end of all runs", func() bool {
		return ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING')") == 0
	})
	mu.Lock()
	defer mu.Unlock()
	for _, path := range paths {
		// A run that was lost with its replica has left no state: its successor finds the same.
		next := 0
		for i, state := range states[path] {
			want := ""
			if next > 0 {
				want = fmt.Sprintf(`{"page":%d}`, next)
			}
			if i > 0 && state != want && state == states[path][i-1] {
				continue
			}
			require.Equal(t, want, state, "%s: %v", path, states[path])
			next++
		}
		require.Equal(t, last+1, next, "%s: %v", path, states[path])
		require.LessOrEqual(t, len(states[path]), last+2, "%s was called again more than once: %v", path, states[path])
	}
}
