package api_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A rollout of 250 databases and 40 versions comes in one answer, and what changed in another that is small.
func TestARolloutOfTenThousandTasksIsOneAnswer(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	change(t, b.conn, `SET session_replication_role = replica`)
	change(t, b.conn, `INSERT INTO rowrun.plan (name) VALUES ('large')`)
	change(t, b.conn, `INSERT INTO rowrun.task (id, plan_id, type, sequential, name, database_id, version, outcome, outcome_run_id)
		SELECT n, 1, 'DATABASE_MIGRATE', true, 'tenant-' || n % 250 || ' 2026.' || n / 250, 'tenant-' || n % 250, '2026.' || n / 250,
			CASE WHEN n % 50 = 0 THEN 'FAILED' ELSE 'DONE' END, 9000000000 + n FROM generate_series(1, 10000) n`)
	change(t, b.conn, `INSERT INTO rowrun.task_run (id, task_id, root_id, status, priority, creator, type, queue, sequential, plan_id, started_at, finished_at, result)
		SELECT 9000000000 + n, n, 9000000000 + n, CASE WHEN n % 50 = 0 THEN 'FAILED' ELSE 'DONE' END, 0, 'x', 'DATABASE_MIGRATE', 'default', true, 1, now() - interval '1 minute', now(),
			jsonb_build_object('code', '55P03', 'detail', 'lock timeout at row ' || n) FROM generate_series(1, 10000) n`)
	change(t, b.conn, `ANALYZE rowrun.task, rowrun.task_run`)
	s := b.ask(http.MethodGet, "/api/v1/plans/1/grid", "", "Accept-Encoding", "identity")
	require.Equal(t, http.StatusOK, s.Status)
	require.Less(t, len(s.Body), 1<<20)
	grid := s.value()
	require.Len(t, at(t, grid, "tasks", "id"), 10000)
	require.Len(t, at(t, grid, "databases"), 250)
	require.Equal(t, "2026.10", at(t, grid, "versions", 10))
	require.Len(t, at(t, grid, "errors"), 1)
	require.Equal(t, "200", at(t, grid, "errors", 0, "count"))
	require.Equal(t, "9800", at(t, grid, "counts", "DONE"))
	t.Logf("%d bytes", len(s.Body))
	again := b.ask(http.MethodGet, "/api/v1/plans/1/grid?since="+at(t, grid, "token").(string), "")
	require.Less(t, len(again.Body), 8<<10)

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+"/api/v1/plans/1/grid", nil)
	require.NoError(t, err)
	r.Header.Set("Accept-Encoding", "gzip")
	resp, err := (&http.Client{}).Do(r) //nolint:forbidigo // a test asks this process
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, "gzip", resp.Header.Get("Content-Encoding"))
	unpacked, err := gzip.NewReader(resp.Body)
	require.NoError(t, err)
	text, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	small := sent{t: t, Body: string(text)}.value()
	for _, answer := range []any{grid, small} {
		delete(answer.(map[string]any), "token") // it counts the readings, and there may have been another one
	}
	require.Equal(t, grid, small)
}
