package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// The cancel of a plan's run locks its task first, as ends and all that is done to plans do: who holds the task can have the run.
func TestACancelLocksTheTaskBeforeTheRun(t *testing.T) {
	t.Parallel()
	for name, edges := range map[string]string{
		"PENDING":   `SELECT`,
		"AVAILABLE": `UPDATE rowrun.task_run SET status = 'AVAILABLE'`,
		"the app's": `UPDATE rowrun.task_run SET status = 'AVAILABLE'; UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r';
			SET session_replication_role = replica; UPDATE rowrun.task_run SET replica_id = NULL; SET session_replication_role = origin`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, ending, canceling := connect(t, url), connect(t, url), connect(t, url)
			_, tasks := newPlan(t, conn, "t")
			run := newRun(t, conn, tasks[0])
			exec(t, conn, edges)
			exec(t, ending, `BEGIN`)
			exec(t, ending, `SELECT FROM rowrun.task WHERE id = $1 FOR NO KEY UPDATE`, tasks[0])
			pid := canceling.PgConn().PID()
			canceled := make(chan error, 1)
			go func() {
				_, err := canceling.Exec(context.WithoutCancel(t.Context()), `SELECT rowrun.cancel_run($1)`, run)
				canceled <- err
			}()
			require.Eventually(t, func() bool {
				return query[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)`, pid)
			}, 10*time.Second, 5*time.Millisecond)
			exec(t, ending, `SELECT FROM rowrun.task_run WHERE id = $1 FOR NO KEY UPDATE NOWAIT`, run)
			exec(t, ending, `COMMIT`)
			require.NoError(t, <-canceled)
			require.Equal(t, "CANCELED", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, run))
		})
	}
}
