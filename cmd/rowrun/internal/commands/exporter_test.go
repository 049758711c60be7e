package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// Nobody lives, and who only reads tells Prometheus.
func TestExporterTellsOfADeploymentWithoutReplicas(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (type, schedule) VALUES ('NOOP', '@hourly')`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (type) VALUES ('MINE'); INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE type = 'MINE'`)
	e := startCommand(t, url+"&options=-crole%3Drowrun_viewer%20-cdefault_transaction_read_only%3Don", nil, "exporter", "--http-addr", "127.0.0.1:0")
	e.awaitReady(t)
	text := e.metrics(t)
	for _, want := range []string{
		`rowrun_build_info{version="dev"} 1`, "rowrun_store_up 1", "rowrun_store_live_replicas 0", "rowrun_store_live_admins 0",
		`rowrun_store_waiting_runs{status="AVAILABLE",type="other"} 1`, "rowrun_store_missed_schedules 0", "rowrun_store_stale_runs 0",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "rowrun_scheduler_", "it is no replica")
	var rows int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM rowrun.replica_heartbeat").Scan(&rows))
	require.Zero(t, rows)
	for _, path := range []string{"/status", "/events", "/api/v1/worker/claim"} {
		code, _ := e.status(t, path)
		require.Equal(t, 404, code, path)
	}
	e.stop()
	require.Equal(t, cli.ExitDone, <-e.code)

	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "exporter", "--http-addr", "nowhere")
	require.Equal(t, cli.ExitUsage, got.Code)
}
