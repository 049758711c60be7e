package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// A run that somebody is canceling keeps the place of its limit from nobody behind it, nor a pass busy.
func TestAHeldRunKeepsNoPlaceEmpty(t *testing.T) {
	t.Parallel()
	conn, _, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, max_running) VALUES ('one', 1)`)
	other := connect(t, conn.Config().ConnString())
	runs := query[[]int64](t, conn, `WITH r AS (INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 3) RETURNING id) SELECT array_agg(id ORDER BY id) FROM r`, task)
	passes(t, conn)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
	passes(t, conn)
	exec(t, other, `BEGIN`)
	exec(t, other, `SELECT rowrun.cancel_run($1)`, runs[1])
	end(t, conn, runs[0], "DONE")
	exec(t, conn, `SELECT rowrun.promote_runs()`)
	require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, runs[2]))
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
	end(t, conn, runs[2], "DONE")
	for range 3 {
		require.False(t, query[bool](t, conn, `SELECT more FROM rowrun.promote_runs()`), "nobody waits whom a pass could judge")
	}
	exec(t, other, `ROLLBACK`)
	passes(t, conn)
	require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, runs[1]))
}

// A burst that is raised over a drained bucket of a slow rate would be full in billions of years.
func TestABucketThatIsFullBeyondTimeFailsNoPass(t *testing.T) {
	t.Parallel()
	conn, _, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, rate, per, burst) VALUES ('q', 'NOOP', 1, '1 day', 1)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	passes(t, conn)
	exec(t, conn, `UPDATE rowrun.concurrency_limit SET burst = 2147483647, per = '1 year' WHERE name = 'q'`)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.limit_bucket`), "it isn't full yet")
	exec(t, conn, `UPDATE rowrun.limit_bucket SET tokens = -1000000`) // as many started by hand
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Equal(t, "RATE_LIMIT", query[string](t, conn, `SELECT w.cause FROM rowrun.waiting() w`))
	exec(t, conn, `DELETE FROM rowrun.task_run WHERE status = 'PENDING'`)
	exec(t, conn, `UPDATE rowrun.limit_bucket SET tokens = 2147483646, counted_at = counted_at - interval '1 year 1 day'`)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.limit_bucket`), "it is full")
}

// Of sequential runs that wait for a slot of their plan there may be hundreds on a database: no limit is asked for them, which takes some ms each.
func TestNoLimitIsAskedForRunsThatTheirPlanHolds(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, max_running) VALUES ('all', 1000)`)
	plan := query[int64](t, conn, `SELECT rowrun.create_plan('p', (SELECT jsonb_agg(jsonb_build_object('name', 's' || n, 'type', 'NOOP', 'database_id', 'db', 'sequential', true))
		FROM generate_series(1, 30) n), parallel_limit => 1)`)
	exec(t, conn, `SELECT rowrun.run_plan($1)`, plan)
	require.Equal(t, 1, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs(true)`))
	require.Equal(t, 29, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE cause IN ('PLAN', 'DATABASE')`))
	const first = `SELECT count(*) FROM rowrun.first_sequential('db', NULL, clock_timestamp())`
	found, calls := callsOf(t, conn, first)
	require.Zero(t, found)
	require.Equal(t, 29, calls["sequential_open"])
	require.Zero(t, calls["limit_verdicts"])
}

// Where a limit alone holds many sequential runs of a database, that were last judged to wait for something else, it is asked for one run of each key.
func TestALimitIsAskedOnceForAKeyThatHasNoRoom(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('keys', '{key}', 1000)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, sequential) VALUES (1, 'NOOP', 'db', true), (2, 'NOOP', NULL, false)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT 1, jsonb_build_object('key', n % 2) FROM generate_series(1, 31) n`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES (2, '{"key": 0}'), (2, '{"key": 1}')`)
	promoteAll(t, conn)
	require.Equal(t, 30, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE cause = 'DATABASE'`))
	exec(t, conn, `UPDATE rowrun.concurrency_limit SET max_running = 1`)
	const first = `SELECT count(*) FROM rowrun.first_sequential('db', NULL, clock_timestamp())`
	found, calls := callsOf(t, conn, first)
	require.Zero(t, found, "both keys have no room")
	require.Equal(t, 30, calls["sequential_open"])
	require.Equal(t, 2, calls["limit_verdicts"])

	exec(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE task_id = 2 AND input = '{"key": 0}'`)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE task_id = 1 AND status = 'AVAILABLE'`)
	found, calls = callsOf(t, conn, first)
	require.Equal(t, 1, found, "a key has room")
	require.Equal(t, 1, calls["limit_verdicts"])
}

// callsOf returns what a query found, and how often it called each function.
func callsOf(t *testing.T, conn *pgx.Conn, sql string) (found int, calls map[string]int) {
	t.Helper()
	const counts = `SELECT coalesce(jsonb_object_agg(funcname, calls), '{}') FROM pg_stat_xact_user_functions WHERE schemaname = 'rowrun'`
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `SET LOCAL track_functions = 'all'`)
	require.NoError(t, err)
	var before map[string]int // of transactions that the session has not reported yet
	require.NoError(t, tx.QueryRow(t.Context(), counts).Scan(&before))
	require.NoError(t, tx.QueryRow(t.Context(), sql).Scan(&found))
	require.NoError(t, tx.QueryRow(t.Context(), counts).Scan(&calls))
	for function, n := range before {
		calls[function] -= n
	}
	return found, calls
}
