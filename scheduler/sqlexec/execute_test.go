package sqlexec_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/sqlexec"
	"github.com/rowrun/rowrun/scheduler/targets"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestStatementsRunInOneTransaction(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	r := newRun(t, `CREATE TABLE t (n int);
INSERT INTO t SELECT generate_series(1, 3); -- three
SAVEPOINT a; DELETE FROM t; ROLLBACK TO a;
CREATE RULE r AS ON DELETE TO t DO ALSO (SELECT 1; SELECT 2);
CREATE FUNCTION f(a int) RETURNS text BEGIN ATOMIC SELECT CASE a WHEN 1 THEN 'one;' END; END;
SELECT * FROM t;
UPDATE t SET n = n + 1 WHERE f(n) IS NULL;`, true)
	result, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"statements": 9, "rows_affected": int64(8)}, result.Output)
	conn := connect(t, url)
	require.Equal(t, int64(8), value[int64](t, conn, "SELECT sum(n) FROM t"))

	rows := r.of("statement")
	require.Len(t, rows, 9)
	require.Equal(t, "INSERT INTO t SELECT generate_series(1, 3)", rows[1]["sql"])
	require.Equal(t, "INSERT 0 3", rows[1]["command_tag"])
	require.InEpsilon(t, 3, rows[1]["rows_affected"], 0)
	require.InEpsilon(t, 2, rows[1]["index"], 0)
	require.InEpsilon(t, 9, rows[1]["of"], 0)
	require.InEpsilon(t, 2, rows[1]["line"], 0)
	require.Contains(t, rows[1], "duration_ms")
}

func TestFailureNamesStatementAndPlaceAndLeavesNothing(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	r := newRun(t, "CREATE TABLE t (n int);\n-- ä\nSELECT 'ä',\n  missing FROM t;\nSELECT 3", true)
	_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
	f := failure(t, err)
	require.Equal(t, "42703", f.Code)
	require.True(t, f.Retryable)
	require.Equal(t, `statement 2 of 3 (line 4, character 3): ERROR: column "missing" does not exist (SQLSTATE 42703)`, f.Detail)
	require.False(t, value[bool](t, connect(t, url), "SELECT to_regclass('t') IS NOT NULL"))
	require.Len(t, r.of("statement"), 1)
	require.Equal(t, []map[string]any{{
		"code": "42703", "detail": f.Detail, "sql": "SELECT 'ä',\n  missing FROM t", "message": `column "missing" does not exist`,
	}}, r.of("error"))
}

// A statement may raise what it likes as its SQLSTATE, but none of the codes by which Rowrun says what it did itself.
func TestAStatementForgesNoCodeOfOurs(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	for raised, code := range map[string]string{"STALE": scheduler.CodeError, "PANIC": scheduler.CodeError, "ERROR": scheduler.CodeError, "STALF": "STALF"} {
		r := newRun(t, `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '`+raised+`'; END $$`, true)
		_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
		require.Equal(t, code, failure(t, err).Code)
	}
}

// What a failure says travels in the stream and in webhooks; values and texts of functions are for who may read the log.
func TestFailureSaysTheFirstLineAndTheLogTheRest(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	r := newRun(t, `DO $$ BEGIN RAISE EXCEPTION E'no\ngeheim' USING DETAIL = 'because', HINT = 'do this', ERRCODE = 'XX123'; END $$ `+
		"/* "+strings.Repeat("x", 1000)+" */ LANGUAGE plpgsql", true)
	_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
	f := failure(t, err)
	require.Equal(t, "XX123", f.Code)
	require.Equal(t, "statement 1 of 1 (line 1, character 1): ERROR: no (SQLSTATE XX123)", f.Detail)
	row := r.of("error")[0]
	require.Equal(t, "no\ngeheim", row["message"])
	require.Equal(t, "because", row["server_detail"])
	require.Equal(t, "do this", row["hint"])
	require.Contains(t, row["context"], "PL/pgSQL function")
	require.Contains(t, row["sql"], "RAISE EXCEPTION")
}

func TestDeferredConstraintFailsAtCommit(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	r := newRun(t, "CREATE TABLE t (n int UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO t VALUES (1), (1)", true)
	_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
	f := failure(t, err)
	require.Equal(t, "23505", f.Code)
	require.Contains(t, f.Detail, "COMMIT: ")
	require.NotContains(t, f.Detail, "Key (n)=(1)")
	require.Contains(t, r.of("error")[0]["server_detail"], "Key (n)=(1) already exists.")
	require.False(t, value[bool](t, connect(t, url), "SELECT to_regclass('t') IS NOT NULL"))
}

func TestWithoutTransactionEachStatementStandsAlone(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	r := newRun(t, `CREATE TABLE t (n int); CREATE INDEX CONCURRENTLY i ON t (n); VACUUM t;
BEGIN; INSERT INTO t VALUES (1); COMMIT; SELECT 1/0; INSERT INTO t VALUES (2)`, false)
	_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
	f := failure(t, err)
	require.Equal(t, "22012", f.Code)
	require.Contains(t, f.Detail, "statement 7 of 8")
	conn := connect(t, url)
	require.True(t, value[bool](t, conn, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'i'::regclass"))
	require.Equal(t, 1, value[int](t, conn, "SELECT sum(n)::int FROM t"))
}

func TestOpenTransactionAtTheEndIsAnError(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	r := newRun(t, "CREATE TABLE t (n int); BEGIN; INSERT INTO t VALUES (1)", false)
	_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
	require.Contains(t, failure(t, err).Detail, "ended inside a transaction")
	require.Zero(t, value[int](t, connect(t, url), "SELECT count(*) FROM t"))
}

func TestSessionIsNamedAndLimited(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	x := executor(t, sqlexec.Target{URL: url, LockTimeout: 5 * time.Second, StatementTimeout: 10 * time.Minute})
	const settings = `CREATE TABLE s AS SELECT name, setting FROM pg_settings; SELECT 1`
	for _, transaction := range []bool{true, false} {
		r := newRun(t, settings, transaction)
		_, err := x.Execute(t.Context(), r.Run)
		require.NoError(t, err)
		conn := connect(t, url)
		for name, want := range map[string]string{
			"application_name": "rowrun:7", "client_connection_check_interval": "2000", "lock_timeout": "5000",
			"statement_timeout": "600000", "standard_conforming_strings": "on", "idle_in_transaction_session_timeout": "60000",
		} {
			require.Equal(t, want, value[string](t, conn, "SELECT setting FROM s WHERE name = $1", name), name)
		}
		execute(t, conn, "DROP TABLE s")
	}
}

func TestTheLongestTimeoutsAreWhatTheServerTakes(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	x := executor(t, sqlexec.Target{URL: url, LockTimeout: targets.MaxTimeout, StatementTimeout: targets.MaxTimeout})
	_, err := x.Execute(t.Context(), newRun(t, `CREATE TABLE s AS SELECT setting FROM pg_settings WHERE name IN ('lock_timeout', 'statement_timeout')`, true).Run)
	require.NoError(t, err)
	require.Equal(t, "2147483647 2147483647", value[string](t, connect(t, url), "SELECT string_agg(setting, ' ') FROM s"))
}

func TestTimeoutsOfTheTarget(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	conn := connect(t, url)
	execute(t, conn, "CREATE TABLE t (n int)")
	execute(t, conn, "BEGIN")
	execute(t, conn, "LOCK TABLE t")
	_, err := executor(t, sqlexec.Target{URL: url, LockTimeout: 50 * time.Millisecond}).
		Execute(t.Context(), newRun(t, "SELECT * FROM t", true).Run)
	f := failure(t, err)
	require.Equal(t, "55P03", f.Code)
	require.True(t, f.Retryable)
	_, err = executor(t, sqlexec.Target{URL: url, StatementTimeout: 50 * time.Millisecond}).
		Execute(t.Context(), newRun(t, "SELECT pg_sleep(60)", true).Run)
	f = failure(t, err)
	require.Equal(t, "57014", f.Code)
	require.Contains(t, f.Detail, "statement timeout")
	require.True(t, f.Retryable)
}

func TestNoticesAreKeptAndBounded(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	r := newRun(t, `DO $$ BEGIN FOR i IN 1..300 LOOP RAISE NOTICE '% %', i, repeat('x', 5000) USING HINT = 'h'; END LOOP; END $$`, true)
	_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
	require.NoError(t, err)
	notices := r.of("notice")
	require.Len(t, notices, 101)
	require.Equal(t, "NOTICE", notices[0]["severity"])
	require.Equal(t, "h", notices[0]["hint"])
	require.Len(t, notices[0]["message"], 1024)
	require.Contains(t, notices[100]["message"], "not kept")
}

func TestLogThatCannotBeWrittenFailsNoRun(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	r := newRun(t, "SELECT 1; SELECT 2; SELECT 3", true)
	calls := 0
	r.Log = func(context.Context, string, any) error { calls++; return errors.New("gone") }
	_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
	require.NoError(t, err)
	require.Equal(t, 1, calls, "after a failure nothing is tried for a while")
}

func TestLongTextReportsProgress(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	r := newRun(t, "SELECT 1; SELECT pg_sleep(1.1); SELECT 3; SELECT 4", true)
	_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
	require.NoError(t, err)
	require.Equal(t, []map[string]any{{"statement": 3.0, "of": 4.0}}, r.progress)
}

func TestPasswordsAreInNoLogAndNoFailure(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	r := newRun(t, "SET LOCAL log_statement = none; DO 'BEGIN PERFORM ''password geheim''; END'; ALTER ROLE nobody_here PASSWORD 'geheim'", true)
	_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
	f := failure(t, err)
	require.Equal(t, "42704", f.Code)
	require.NotContains(t, f.Detail, "PASSWORD")
	require.Equal(t, "ALTER ROLE nobody_here PASSWORD '***'", r.of("error")[0]["sql"])
	require.Len(t, r.of("statement"), 2)
	for _, row := range r.rows {
		require.NotContains(t, fmt.Sprint(row.detail), "geheim")
	}
}

func TestCancelEndsTheStatementOnTheServer(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	conn := connect(t, url)
	for _, transaction := range []bool{true, false} {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := newRun(t, "CREATE TABLE IF NOT EXISTS t (n int); SELECT pg_sleep(600); SELECT 3", transaction)
		done := make(chan error, 1)
		go func() {
			_, err := executor(t, sqlexec.Target{URL: url}).Execute(ctx, r.Run)
			done <- err
		}()
		eventually(t, conn, sleeping)
		cancel(scheduler.ErrCanceled)
		f := failure(t, <-done)
		require.False(t, value[bool](t, conn, "SELECT "+sleeping), "it ended before Execute returned")
		require.Equal(t, "57014", f.Code)
		require.Contains(t, f.Detail, "statement 2 of 3")
		require.Equal(t, !transaction, value[bool](t, conn, "SELECT to_regclass('t') IS NOT NULL"))
	}
}

func TestCancelEndsAStatementThatIgnoresIt(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	conn := connect(t, url)
	ctx, cancel := context.WithCancelCause(t.Context())
	r := newRun(t, `DO $$ BEGIN LOOP
  BEGIN PERFORM pg_sleep(600); EXCEPTION WHEN query_canceled THEN NULL; END;
END LOOP; END $$`, true)
	done := make(chan error, 1)
	go func() {
		_, err := executor(t, sqlexec.Target{URL: url}).Execute(ctx, r.Run)
		done <- err
	}()
	eventually(t, conn, sleeping)
	start := time.Now()
	cancel(scheduler.ErrCanceled)
	require.Error(t, <-done)
	require.False(t, value[bool](t, conn, "SELECT "+sleeping))
	require.Less(t, time.Since(start), 15*time.Second)
}

func TestContextThatEndedSendsNothing(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(scheduler.ErrDrained)
	_, err := executor(t, sqlexec.Target{URL: url}).Execute(ctx, newRun(t, "CREATE TABLE t (n int)", false).Run)
	require.ErrorContains(t, err, scheduler.ErrDrained.Error())
	require.False(t, value[bool](t, connect(t, url), "SELECT to_regclass('t') IS NOT NULL"))
}

func TestTerminatedBackendMayBeRetried(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	conn := connect(t, url)
	done := make(chan error, 1)
	r := newRun(t, "SELECT pg_sleep(600)", true)
	go func() {
		_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
		done <- err
	}()
	eventually(t, conn, sleeping)
	require.True(t, value[bool](t, conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
		"WHERE datname = current_database() AND application_name = 'rowrun:7'"))
	f := failure(t, <-done)
	require.Equal(t, "57P01", f.Code)
	require.True(t, f.Retryable)
}
