package store_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// endAs ends a run as a replica would.
func endAs(t *testing.T, conn *pgx.Conn, run int64, result, retry string) (status string) {
	t.Helper()
	return query[string](t, conn, `SELECT status FROM rowrun.end_runs(ARRAY[$1::bigint], ARRAY[NULL::uuid], ARRAY['FAILED'], ARRAY[$2::jsonb], ARRAY[$3])`,
		run, result, retry)
}

// started is a run of a task, RUNNING.
func started(t *testing.T, conn *pgx.Conn, task int64) int64 {
	t.Helper()
	run := newRun(t, conn, task)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1`, run)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, run)
	return run
}

const failedFor = `{"code": "ERROR", "detail": "no"}`

// The handler is run when the last attempt has failed, once, with that run as its input; its own failure runs none.
func TestOnFailureTaskIsRunOnceTheLastAttemptFailed(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	handler := query[int64](t, conn, `INSERT INTO rowrun.task (name, type, on_failure_task) VALUES ('handler', 'NOOP', NULL) RETURNING id`)
	exec(t, conn, `UPDATE rowrun.task SET on_failure_task = 'handler' WHERE id = $1`, handler) // itself
	task := query[int64](t, conn, `INSERT INTO rowrun.task (name, type, max_attempts, on_failure_task) VALUES ('work', 'NOOP', 2, 'handler') RETURNING id`)
	run := started(t, conn, task)
	endAs(t, conn, run, failedFor, "FAILURE")
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE task_id = $1`, handler), "it is tried again first")
	last := query[int64](t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE retry_of = $1 RETURNING id`, run)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, last)
	endAs(t, conn, last, failedFor, "FAILURE")

	var input struct {
		Run struct {
			RunID  int64 `json:"run_id"`
			RootID int64 `json:"root_id"`
			Task   string
			Code   string
			Result map[string]string
		} `json:"failed_run"`
	}
	require.NoError(t, json.Unmarshal([]byte(query[string](t, conn, `SELECT input::text FROM rowrun.task_run WHERE task_id = $1`, handler)), &input))
	require.Equal(t, last, input.Run.RunID)
	require.Equal(t, run, input.Run.RootID)
	require.Equal(t, "work", input.Run.Task)
	require.Equal(t, "ERROR", input.Run.Code)
	require.Equal(t, "no", input.Run.Result["detail"])

	its := query[int64](t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE task_id = $1 RETURNING id`, handler)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, its)
	endAs(t, conn, its, failedFor, "NONE")
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE task_id = $1`, handler), "no handler for the handler")

	canceled := started(t, conn, task)
	exec(t, conn, `UPDATE rowrun.task_run SET cancel_requested_at = now() WHERE id = $1`, canceled)
	require.Equal(t, "CANCELED", endAs(t, conn, canceled, failedFor, "FAILURE"))
	abandoned := started(t, conn, task)
	exec(t, conn, `SELECT rowrun.abandon_run($1, 'enough')`, abandoned)
	refusedW(t, conn, "RR004", "is not RUNNING", `SELECT rowrun.abandon_run($1)`, abandoned)
	refusedW(t, conn, "P0002", "does not exist", `SELECT rowrun.abandon_run(9999)`)
	require.Equal(t, 2, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE task_id = $1`, handler), "for what was abandoned, not for what was canceled")
}

// What is wrong with the handler never keeps a run from ending.
func TestRunEndsWhateverIsWrongWithItsHandler(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	handler := query[int64](t, conn, `INSERT INTO rowrun.task (name, type) VALUES ('handler', 'NOOP') RETURNING id`)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (name, type, on_failure_task) VALUES ('work', 'NOOP', $1) RETURNING id`, "handler")
	large := `{"code": "ERROR", "detail": "` + strings.Repeat("x", 900_000) + `"}`
	run := newRun(t, conn, task)
	exec(t, conn, `UPDATE rowrun.task_run SET input = jsonb_build_object('x', repeat('y', 900000)) WHERE id = $1`, run)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, run)
	require.Equal(t, "FAILED", endAs(t, conn, run, large, "NONE"))
	require.True(t, query[bool](t, conn, `SELECT (input -> 'failed_run' -> 'truncated')::bool FROM rowrun.task_run WHERE task_id = $1`, handler))

	exec(t, conn, `SELECT rowrun.cancel_run(id) FROM rowrun.task_run WHERE task_id = $1`, handler)
	exec(t, conn, `DELETE FROM rowrun.task WHERE id = $1`, handler)
	require.Equal(t, "FAILED", endAs(t, conn, started(t, conn, task), failedFor, "NONE"))
	require.Equal(t, []string{"task_run.handler_missing"}, all[string](t, conn, `SELECT event FROM rowrun.stream_note`))
	require.Equal(t, "FAILED", endAs(t, conn, started(t, conn, query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)), failedFor, "NONE"))
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.stream_note`), "a plain run notes nothing")
}

// Runs of a plan end CANCELED where on_stale says so: the plan hasn't failed.
func TestOnStaleCancelOfAPlansRunIsNoFailure(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	plan := query[int64](t, conn, `INSERT INTO rowrun.plan DEFAULT VALUES RETURNING id`)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (plan_id, type, on_stale) VALUES ($1, 'NOOP', 'CANCEL') RETURNING id`, plan)
	for _, code := range []string{"STALE", "LOST_CONTACT", "DRAINED"} {
		run := started(t, conn, task)
		require.Equal(t, "CANCELED", endAs(t, conn, run, `{"code": "`+code+`", "detail": "why"}`, "STALE"))
		require.Equal(t, code, query[string](t, conn, `SELECT result ->> 'code' FROM rowrun.task_run WHERE id = $1`, run))
	}
	require.Equal(t, "CANCELED", query[string](t, conn, `SELECT status FROM rowrun.plan_status`))
	require.Equal(t, "FAILED", endAs(t, conn, started(t, conn, task), failedFor, "FAILURE"), "its own failure is one")
}

// A function of a user's would run in a session of the sidecar's, and a deferred trigger of its author's with the
// sidecar's rights when that commits: nobody names one, in any spelling, and the refusal says what to do instead.
func TestOnStaleNamesNoFunction(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `CREATE SCHEMA app; CREATE FUNCTION app.good(bigint) RETURNS void LANGUAGE sql SECURITY DEFINER AS '';
		ALTER FUNCTION app.good(bigint) OWNER TO rowrun_author; GRANT USAGE ON SCHEMA app TO rowrun_author`)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	for _, role := range []string{"NONE", "rowrun_author", "rowrun_client"} { // NONE: the owner of the tables
		exec(t, conn, `SET ROLE `+role)
		for _, text := range []string{
			`INSERT INTO rowrun.task (type, on_stale) VALUES ('NOOP', $1)`,
			`UPDATE rowrun.task SET on_stale = $1 WHERE id = ` + strconv.FormatInt(task, 10),
			`SELECT rowrun.define_task('x', 'NOOP', on_stale => $1)`,
		} {
			for _, on := range []string{"FUNCTION:app.good", "FUNCTION:", "function:app.good", "Function: app.good", "FUNCTION"} {
				_, err := conn.Exec(t.Context(), text, on)
				require.Equal(t, "RR003", store.SQLState(err), "%s %s %s", role, text, on)
				var server *pgconn.PgError
				require.ErrorAs(t, err, &server)
				require.Contains(t, server.Hint, "on_failure_task")
			}
			_, err := conn.Exec(t.Context(), text, "LATER")
			require.Equal(t, "23514", store.SQLState(err))
		}
		for _, on := range []string{"CANCEL", "RETRY", "FAIL"} {
			exec(t, conn, `INSERT INTO rowrun.task (type, on_stale) VALUES ('NOOP', $1)`, on)
		}
		exec(t, conn, `RESET ROLE`)
	}
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM pg_proc WHERE pronamespace = 'rowrun'::regnamespace AND prosrc ~* '\mexecute\M'`),
		"one of our functions puts SQL together and executes it")
	_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task (type, on_failure_task) VALUES ('NOOP', 'nobody')`)
	require.Equal(t, "RR003", store.SQLState(err))
}
