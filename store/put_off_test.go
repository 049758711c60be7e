package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// A retry ends what its failure held back, also where somebody puts it off before a pass has seen it.
func TestARetryThatIsPutOffAtOnceEndsAStop(t *testing.T) {
	t.Parallel()
	for _, database := range []any{nil, "a"} {
		conn := connect(t, storetest.New(t))
		addReplica(t, conn, "r")
		exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit, on_failure) VALUES (1, 1, 'STOP')`)
		exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type, database_id) VALUES (1, 1, 'NOOP', $1), (2, 1, 'NOOP', NULL)`, database)
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
		promoteAll(t, conn)
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'FAILED' WHERE task_id = 1`)
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (2)`)
		promoteAll(t, conn)
		require.Equal(t, "PLAN", query[string](t, conn, `SELECT cause FROM rowrun.task_run WHERE task_id = 2`), "the failure holds it")
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
		exec(t, conn, `UPDATE rowrun.task_run SET run_at = now() + interval '1 day' WHERE task_id = 1 AND status = 'PENDING'`)
		promoteAll(t, conn)
		require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE task_id = 2`))
	}
}
