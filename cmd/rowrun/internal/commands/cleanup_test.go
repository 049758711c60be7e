package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestCleanupRemovesWhatEndedLongAgo(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `SELECT rowrun.define_task('a', 'NOOP'); SELECT rowrun.run_task('a'), rowrun.run_task('a'), rowrun.run_task('a')`)
	rowruntest.Change(t, conn, `SELECT rowrun.cancel_run(id) FROM rowrun.task_run WHERE id <= 2`)
	rowruntest.Change(t, conn, `SET session_replication_role = replica; UPDATE rowrun.task_run SET created_at = created_at - interval '40 days', finished_at = finished_at - interval '40 days' WHERE id = 1`)
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "cleanup", "--retention", "0")
	require.Equal(t, cli.ExitUsage, got.Code)
	require.Contains(t, got.Stderr, "a duration above 0")
	got = rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "cleanup")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Equal(t, "removed 1 runs, 0 plans, 0 deliveries\n", got.Stdout)
	var left []int64
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT array_agg(id ORDER BY id) FROM rowrun.task_run`).Scan(&left))
	require.Equal(t, []int64{2, 3}, left)
	rowruntest.Change(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = 3 AND status = 'PENDING'`)
	rowruntest.Change(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'nobody' WHERE id = 3`)
	rowruntest.Change(t, conn, `UPDATE rowrun.task_run SET status = 'FAILED' WHERE id = 3`)
	got = rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "cleanup", "--retention", "1us", "--retention-failed", "1h", "-o", "json")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.JSONEq(t, `{"runs": 1, "plans": 0, "deliveries": 0}`, got.Stdout)
}
