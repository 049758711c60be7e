package store_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestStatusCountsWhatHasNotEnded(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	fill(t, conn)
	// Failed for good, but long ago.
	exec(t, conn, `SET session_replication_role = replica;
UPDATE rowrun.task_run SET finished_at = now() - interval '2 days'
WHERE id = (SELECT max(run_id) FROM rowrun.failed_run);
SET session_replication_role = origin`)
	status, err := s.Status(t.Context())
	require.NoError(t, err)
	var want [4]int64
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE status = 'PENDING'),
		count(*) FILTER (WHERE status = 'AVAILABLE'), count(*) FILTER (WHERE status = 'RUNNING'),
		count(*) FILTER (WHERE status = 'FAILED' AND retry_run_id IS NULL AND finished_at > now() - interval '1 day') FROM rowrun.task_run`).
		Scan(&want[0], &want[1], &want[2], &want[3]))
	require.Equal(t, want, [4]int64{status.Pending, status.Available, status.Running, status.FailedLastDay})
	for _, n := range want {
		require.Positive(t, n)
	}
	require.Empty(t, status.Replicas)
	require.Empty(t, status.StreamWriter)
}

func TestStatusTellsReplicasAndTheStreamsWriter(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, started_at, lease, types, concurrency)
VALUES ('old', now() - interval '1 hour', now() - interval '1 day', '30 s', '{NOOP}', 4), ('new', now(), now(), '30 s', '{NOOP,HTTP}', 8);
UPDATE rowrun.deployment SET stream_replica_id = 'new'`)
	status, err := s.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, "new", status.StreamWriter)
	require.Len(t, status.Replicas, 2)
	silent, live := status.Replicas[0], status.Replicas[1]
	require.Equal(t, "old", silent.ReplicaID)
	require.False(t, silent.Live)
	require.False(t, silent.Stream)
	require.InDelta(t, 3_600_000, silent.SilentMS, 60_000)
	require.InDelta(t, 30_000, silent.LeaseMS, 0.001)
	require.True(t, live.Live)
	require.True(t, live.Stream)
	require.Equal(t, []string{"NOOP", "HTTP"}, live.Types)
	require.Equal(t, 8, live.Concurrency)
}

// A table of runs that have ended must not be read to count the few that haven't.
func TestStatusReadsNoRunThatHasEnded(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	fill(t, conn)
	exec(t, conn, `SET session_replication_role = replica;
INSERT INTO rowrun.task_run (id, task_id, root_id, status, priority, creator, type, queue, sequential, finished_at, database_id, plan_id)
SELECT 100000 + n, 1, 100000 + n, CASE n % 3 WHEN 0 THEN 'FAILED' ELSE 'DONE' END, 0, 'x', 'NOOP', 'default', false,
       now() - interval '2 days', CASE n % 2 WHEN 0 THEN 'orders' END, CASE n % 5 WHEN 0 THEN 1 END
FROM generate_series(1, 30000) n;
SET session_replication_role = origin;
ANALYZE rowrun.task_run`)
	rows, err := conn.Query(t.Context(), "EXPLAIN "+store.Statement("status_counts"), store.MaxUnfinishedCount)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	plan := strings.Join(lines, "\n")
	require.Contains(t, plan, "task_run_running")
	require.NotContains(t, plan, "Seq Scan on task_run", plan)
	require.LessOrEqual(t, pagesOf(t, conn, strings.ReplaceAll(store.Statement("status_counts"), "$1", "1000")), 200)
}
