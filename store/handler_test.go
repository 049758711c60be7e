package store_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// handled has a task 'work' whose failures run the task 'handler'; their ids.
func handled(t *testing.T, conn *pgx.Conn) (work, handler int64) {
	t.Helper()
	handler = query[int64](t, conn, `INSERT INTO rowrun.task (name, type) VALUES ('handler', 'NOOP') RETURNING id`)
	work = query[int64](t, conn, `INSERT INTO rowrun.task (name, type, on_failure_task) VALUES ('work', 'NOOP', 'handler') RETURNING id`)
	return work, handler
}

// as runs statements with a role's rights.
func as(t *testing.T, conn *pgx.Conn, role string, do func()) {
	t.Helper()
	exec(t, conn, "SET ROLE "+role)
	do()
	exec(t, conn, "RESET ROLE")
}

const handlersOf = `SELECT count(*) FROM rowrun.task_run WHERE task_id = $1 AND handles = $2 AND (input -> 'failed_run' ->> 'run_id')::bigint = $2`

// Whatever keys and columns others write, each failed run gets its handler's run, and one.
func TestNobodySuppressesAHandler(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	work, handler := handled(t, conn)
	for _, role := range []string{"rowrun_client", "rowrun_author", "rowrun_operator"} {
		run := started(t, conn, work)
		as(t, conn, role, func() {
			exec(t, conn, `SELECT rowrun.run_task('handler', idempotency_key => 'on_failure:' || $1::bigint)`, run)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id, handles) VALUES ($1, $2)`, handler, run)
			exec(t, conn, `SET LOCAL rowrun.retrying = on; INSERT INTO rowrun.task_run (task_id, handles) SELECT id, `+fmt.Sprint(run)+` FROM rowrun.task WHERE name = 'handler'`)
		})
		require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE handles IS NOT NULL AND handles = $1`, run), role)
		require.Equal(t, "FAILED", endAs(t, conn, run, failedFor, "NONE"))
		require.Equal(t, 1, query[int](t, conn, handlersOf, handler, run), role)
	}
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.stream_note`))
}

// What a run's key says, or a column that its user wrote, doesn't make it a handler's.
func TestNobodyTakesARunForAHandlers(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	work, handler := handled(t, conn)
	for i, insert := range []string{
		`SELECT rowrun.run_task('work', idempotency_key => 'on_failure:1')`,
		`SELECT rowrun.run_task('work', idempotency_key => 'on_failure:')`,
		`INSERT INTO rowrun.task_run (task_id, handles) SELECT id, 1 FROM rowrun.task WHERE name = 'work' RETURNING id`,
	} {
		var run int64
		as(t, conn, "rowrun_client", func() { run = query[int64](t, conn, insert) })
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1 AND status = 'PENDING'`, run)
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, run)
		require.Equal(t, "FAILED", endAs(t, conn, run, failedFor, "NONE"))
		require.Equal(t, 1, query[int](t, conn, handlersOf, handler, run), insert)
		require.Equal(t, i+1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE task_id = $1`, handler))
	}
	require.NotZero(t, work)
}

// The role of a sidecar ends runs by itself: what it inserts for a failed run is a handler's all the same. A handler
// that fails has none, nor has a retry of it, automatic or asked for.
func TestHandlersOfASidecarHaveNoHandler(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	work, handler := handled(t, conn)
	exec(t, conn, `UPDATE rowrun.task SET on_failure_task = 'handler', max_attempts = 2, retry_delay = '0' WHERE id = $1`, handler)
	run := started(t, conn, work)
	start := func(id int64) {
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1 AND status = 'PENDING'`, id)
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, id)
	}
	as(t, conn, "rowrun_replica", func() { require.Equal(t, "FAILED", endAs(t, conn, run, failedFor, "NONE")) })
	require.Equal(t, 1, query[int](t, conn, handlersOf, handler, run))
	first := query[int64](t, conn, `SELECT id FROM rowrun.task_run WHERE task_id = $1`, handler)
	start(first)
	as(t, conn, "rowrun_replica", func() { endAs(t, conn, first, failedFor, "FAILURE") })
	second := query[int64](t, conn, `SELECT id FROM rowrun.task_run WHERE retry_of = $1`, first)
	start(second)
	as(t, conn, "rowrun_replica", func() { endAs(t, conn, second, failedFor, "FAILURE") })
	third := query[int64](t, conn, `SELECT rowrun.retry_run($1)`, second)
	start(third)
	as(t, conn, "rowrun_replica", func() { endAs(t, conn, third, failedFor, "NONE") })
	require.Equal(t, 3, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE task_id = $1`, handler), "the handler's run and its retries")
}
