package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// onADatabase is a task of a new plan that may say a version.
func onADatabase(t *testing.T, conn *pgx.Conn) int64 {
	t.Helper()
	_, tasks := newPlan(t, conn, "a")
	exec(t, conn, `UPDATE rowrun.task SET database_id = 'own' WHERE id = $1`, tasks[0])
	return tasks[0]
}

// A run whose transaction is still open fixes what it has from its task as one that is committed does: who changes the task
// waits for that transaction.
func TestARunThatIsNotCommittedFixesItsTask(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, inserting, changing := connect(t, url), connect(t, url), connect(t, url)
	for _, change := range []string{
		"type = 'SLEEP'", "queue = 'other'", "database_id = 'other'", "version = '1'", "sequential = true", "plan_id = NULL",
	} {
		for end, state := range map[string]string{"COMMIT": "RR005", "ROLLBACK": ""} {
			task := onADatabase(t, conn)
			exec(t, inserting, `BEGIN`)
			exec(t, inserting, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
			answer := make(chan error, 1)
			go func() {
				_, err := changing.Exec(t.Context(), `UPDATE rowrun.task SET `+change+` WHERE id = $1`, task)
				answer <- err
			}()
			waitsForLock(t, conn, changing)
			exec(t, inserting, end)
			require.Equal(t, state, store.SQLState(<-answer), "%s, %s", change, end)
		}
	}
}

// A transaction whose snapshot is older than a run can't tell whether there is one.
func TestATaskOfAPlanIsNotChangedByAnOldSnapshot(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, changing := connect(t, url), connect(t, url)
	for _, level := range []string{"REPEATABLE READ", "SERIALIZABLE"} {
		task := onADatabase(t, conn)
		exec(t, changing, `BEGIN ISOLATION LEVEL `+level)
		exec(t, changing, `SELECT count(*) FROM rowrun.task_run`)
		newRun(t, conn, task)
		exec(t, changing, `UPDATE rowrun.task SET name = 'anew', version = NULL WHERE id = $1`, task)
		code, message := refused(t, changing, `UPDATE rowrun.task SET version = '2' WHERE id = $1`, task)
		require.Equal(t, "25000", code)
		require.Contains(t, message, level)
		exec(t, changing, `ROLLBACK`)
	}
}

// Nor whether it is under way: a task that were skipped beside its RUNNING run would open the gate of those that depend on it.
func TestATaskIsNotSkippedByAnOldSnapshot(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, skipping := connect(t, url), connect(t, url)
	for _, level := range []string{"REPEATABLE READ", "SERIALIZABLE"} {
		_, tasks := newPlan(t, conn, "a")
		exec(t, skipping, `BEGIN ISOLATION LEVEL `+level)
		exec(t, skipping, `SELECT count(*) FROM rowrun.task_run`)
		newRun(t, conn, tasks[0])
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE task_id = $1`, tasks[0])
		exec(t, skipping, `UPDATE rowrun.task SET skip_reason = 'none yet', skipped = false WHERE id = $1`, tasks[0])
		code, message := refused(t, skipping, `UPDATE rowrun.task SET skipped = true WHERE id = $1`, tasks[0])
		require.Equal(t, "25000", code)
		require.Contains(t, message, level)
		exec(t, skipping, `ROLLBACK`)
		_, tasks = newPlan(t, conn, "b")
		exec(t, conn, `SELECT rowrun.skip_task($1)`, tasks[0])
		exec(t, skipping, `BEGIN ISOLATION LEVEL `+level)
		code, _ = refused(t, skipping, `UPDATE rowrun.task SET skipped = false WHERE id = $1`, tasks[0])
		require.Equal(t, "25000", code)
		exec(t, skipping, `ROLLBACK`)
	}
}
