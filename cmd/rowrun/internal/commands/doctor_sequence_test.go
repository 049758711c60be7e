package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/doctor"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// Each setval that doctor prints is executed, and the INSERT that failed works.
func TestDoctorFindsSequencesBehindTheirTables(t *testing.T) {
	t.Parallel()
	dsn := storetest.New(t)
	conn := rowruntest.Connect(t, dsn)
	rowruntest.Change(t, conn, aliveReplica)
	_, findings := diagnosis(t, dsn)
	require.Empty(t, of(findings, "sequence"))
	require.Contains(t, checks(findings), "sequence")

	rowruntest.Change(t, conn, `INSERT INTO rowrun.plan (id, name) VALUES (500, 'restored');
INSERT INTO rowrun.task (id, type, name) VALUES (500, 'NOOP', 'restored');
INSERT INTO rowrun.task_run (id, task_id) VALUES (500, 500);
INSERT INTO rowrun.task_run_log (id, task_run_id, type) VALUES (500, 500, 'restored');
INSERT INTO rowrun.webhook (id, url) VALUES (500, 'http://127.0.0.1:9/');
INSERT INTO rowrun.webhook_delivery (id, webhook_id, plan_id, round, event_type, message_id, payload) VALUES (500, 500, 500, 1, 'PIPELINE_FAILED', 'm', '');
INSERT INTO rowrun.stream_note (id, event, message) OVERRIDING SYSTEM VALUE VALUES (500, 'restored', 'restored');
INSERT INTO rowrun.gate_mark (id, kind) OVERRIDING SYSTEM VALUE VALUES (500, 'NO_REPLICA')`)
	rowruntest.Change(t, conn, `SELECT setval('rowrun.task_run_id_seq', 500, false)`) // the very next one is taken
	code, findings := diagnosis(t, dsn)
	require.Equal(t, cli.ExitFailed, code)
	behind := of(findings, "sequence")
	require.Len(t, behind, 8, "%+v", behind)
	_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task_run (task_id) VALUES (500)`)
	require.ErrorContains(t, err, "23505")
	for _, f := range behind {
		require.Equal(t, doctor.Warning, f.Severity)
		rowruntest.Change(t, conn, f.Fix)
	}
	_, findings = diagnosis(t, dsn)
	require.Empty(t, of(findings, "sequence"))
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (500)`)
}
