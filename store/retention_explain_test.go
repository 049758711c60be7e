package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// Tasks with a retention of their own, of either kind, are found beside many that have none.
func TestRetentionReadsNoTaskThatHasNone(t *testing.T) {
	t.Parallel()
	log := &storetest.Log{}
	cluster, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	url := storetest.On(t, cluster)
	conn := connect(t, url)
	exec(t, conn, `SET session_replication_role = replica;
INSERT INTO rowrun.task (id, type, sequential, retention, retention_by_status)
SELECT n, 'NOOP', false, CASE n WHEN 9000 THEN interval '1 hour' END, CASE n WHEN 19000 THEN '{"DONE": "1 hour"}'::jsonb END FROM generate_series(1, 20000) n;
INSERT INTO rowrun.task_run (task_id, root_id, status, priority, creator, type, queue, sequential, own_retention, finished_at)
SELECT t, n, 'DONE', 0, 'x', 'NOOP', 'default', false, true, now() - (n - 1) * interval '2 hours' FROM generate_series(1, 4) n, unnest('{9000,19000}'::bigint[]) t;
INSERT INTO rowrun.task_run (task_id, root_id, status, priority, creator, type, queue, sequential, finished_at)
SELECT n, 100 + n, 'DONE', 0, 'x', 'NOOP', 'default', false, now() FROM generate_series(1, 8000) n;
SET session_replication_role = origin`)
	exec(t, conn, `VACUUM ANALYZE rowrun.task, rowrun.task_run`)
	e, s := explain(t, log, url), openStore(t, url)
	e.check(t, "retention", 8_000, func() { // a window of runs; 20,000 tasks would be more
		gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 720 * time.Hour}, nil)
		require.NoError(t, err)
		require.EqualValues(t, 6, gone.Runs)
	})
	require.Contains(t, e.names, "lock_early_runs")
}

// A command's cleanup of a large table reads each run once or twice, and not all of them for each window. The runs lie in no order, as in a
// table whose removed rows have made room for others, and are more than fits the memory that the planner reckons with.
func TestACommandsCleanupReadsItsWindows(t *testing.T) {
	t.Parallel()
	const runs = 200_000
	log := &storetest.Log{}
	cluster, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Log: log, Settings: map[string]string{"effective_cache_size": "8MB"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	url := storetest.On(t, cluster)
	conn := connect(t, url)
	exec(t, conn, fmt.Sprintf(`SET session_replication_role = replica;
INSERT INTO rowrun.task (id, type, sequential) SELECT n, 'NOOP', false FROM generate_series(1, 5000) n;
INSERT INTO rowrun.task_run (id, task_id, root_id, status, priority, creator, type, queue, sequential, created_at, finished_at)
OVERRIDING SYSTEM VALUE
SELECT n, 1, n, 'DONE', 0, 'x', 'NOOP', 'default', false, at, at
FROM (SELECT n, now() - CASE WHEN n <= 60000 THEN interval '800 hours' ELSE interval '0' END AS at FROM generate_series(1, %d) n ORDER BY random()) r`, runs))
	exec(t, conn, `VACUUM ANALYZE rowrun.task, rowrun.task_run`)
	e := explain(t, log, url)
	s, err := store.Open(t.Context(), store.Config{URL: url, Indexed: true})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	e.check(t, "cleanup", 250_000, func() {
		gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 720 * time.Hour}, nil)
		require.NoError(t, err)
		require.EqualValues(t, 60_000, gone.Runs)
	})
}
