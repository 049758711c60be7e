package sqlexec_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/sqlexec"
	"github.com/rowrun/rowrun/store/storetest"
)

// ledger returns the rows of a target's ledger.
func ledger(t testing.TB, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT concat_ws(' ', task_id, version, status, run_id)
		FROM rowrun_migration.ledger ORDER BY task_id, version, run_id`)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}

// prepareLedger makes the ledger, so that its own COMMIT does not come into a test's way.
func prepareLedger(t testing.TB, target string) {
	t.Helper()
	r := newRun(t, "SELECT 1", true)
	r.TaskID = 1
	_, err := executor(t, sqlexec.Target{URL: target}).Migrate().Execute(t.Context(), r.Run)
	require.NoError(t, err)
	execute(t, connect(t, target), "DELETE FROM rowrun_migration.ledger")
}

// migrate executes and returns the result's output as an object.
func migrate(t testing.TB, target string, r *record) (map[string]any, error) {
	t.Helper()
	result, err := executor(t, sqlexec.Target{URL: target}).Migrate().Execute(t.Context(), r.Run)
	if err != nil {
		return nil, err
	}
	return object(t, result.Output), nil
}

func TestVersionIsAppliedOnce(t *testing.T) {
	t.Parallel()
	target := storetest.Empty(t)
	conn := connect(t, target)
	const text = "CREATE TABLE t (n int); INSERT INTO t VALUES (1)"
	output, err := migrate(t, target, newRun(t, text, true))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"ledger": "APPLIED", "statements": 2.0, "rows_affected": 1.0}, output)
	require.Equal(t, []string{"3 1.10 DONE 7"}, ledger(t, conn))
	require.True(t, value[bool](t, conn, "SELECT sha256 = encode(sha256($1::bytea), 'hex') FROM rowrun_migration.ledger", text))

	again := newRun(t, text, true)
	again.ID, again.Version = 8, "01.10.0"
	output, err = migrate(t, target, again)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"code": "ALREADY_APPLIED", "applied_by_run": 7.0, "statements": 0.0, "rows_affected": 0.0}, output)
	require.Empty(t, again.of("statement"))

	for _, transaction := range []bool{true, false} {
		other := newRun(t, text+" ", transaction)
		_, err = migrate(t, target, other)
		f := failure(t, err)
		require.Equal(t, scheduler.CodeBadInput, f.Code)
		require.False(t, f.Retryable)
		require.Contains(t, f.Detail, "with another text (by run 7")
	}
	require.Equal(t, 1, value[int](t, conn, "SELECT count(*) FROM t"))
}

func TestLedgerTellsDeploymentsTasksAndVersionsApart(t *testing.T) {
	t.Parallel()
	target := storetest.Empty(t)
	conn := connect(t, target)
	execute(t, conn, "CREATE TABLE t (n int)")
	const text = "INSERT INTO t VALUES (1)"
	base, task, version := newRun(t, text, true), newRun(t, text, true), newRun(t, text, true)
	task.TaskID, version.Version = 4, "1.1"
	for _, r := range []*record{base, task, version} {
		_, err := migrate(t, target, r)
		require.NoError(t, err)
	}
	x, err := sqlexec.New(sqlexec.Config{
		Targets:    map[string]sqlexec.Target{"orders": {URL: target}},
		Deployment: strings.Replace(deployment, "6", "7", 1),
	})
	require.NoError(t, err)
	_, err = x.Migrate().Execute(t.Context(), newRun(t, text, true).Run)
	require.NoError(t, err)
	require.Equal(t, 4, value[int](t, conn, "SELECT count(*) FROM t"))
	require.Len(t, ledger(t, conn), 4)
}

func TestManyAtOnceApplyOnce(t *testing.T) {
	t.Parallel()
	for _, transaction := range []bool{true, false} {
		target := storetest.Empty(t)
		conn := connect(t, target)
		execute(t, conn, "CREATE TABLE t (n int)")
		const text = "INSERT INTO t VALUES (1); SELECT pg_sleep(0.2); INSERT INTO t VALUES (2)"
		var (
			all   sync.WaitGroup
			mu    sync.Mutex
			codes = map[any]int{}
		)
		for i := range 8 {
			r := newRun(t, text, transaction)
			r.ID, r.Manual = int64(100+i), false
			all.Go(func() {
				result, err := executor(t, sqlexec.Target{URL: target}).Migrate().Execute(t.Context(), r.Run)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					codes[err.Error()]++
					return
				}
				codes[result.Output.(map[string]any)["code"]]++
			})
		}
		all.Wait()
		require.Equal(t, map[any]int{nil: 1, "ALREADY_APPLIED": 7}, codes)
		require.Equal(t, 3, value[int](t, conn, "SELECT sum(n)::int FROM t"))
	}
}

func TestFailedTransactionLeavesNoRow(t *testing.T) {
	t.Parallel()
	target := storetest.Empty(t)
	conn := connect(t, target)
	_, err := migrate(t, target, newRun(t, "CREATE TABLE t (n int); SELECT 1/0", true))
	require.Equal(t, "22012", failure(t, err).Code)
	require.True(t, failure(t, err).Retryable)
	require.Empty(t, ledger(t, conn))
	next := newRun(t, "CREATE TABLE t (n int); SELECT 1", true)
	next.Manual = false
	_, err = migrate(t, target, next)
	require.NoError(t, err)
	require.Len(t, ledger(t, conn), 1)
}

func TestLedgerIsUntouchedByWhatStatementsSet(t *testing.T) {
	t.Parallel()
	for _, transaction := range []bool{true, false} {
		target := storetest.Empty(t)
		conn := connect(t, target)
		r := newRun(t, "SET search_path = pg_temp; SET ROLE pg_monitor; SET default_transaction_read_only = on; SET timezone = 'Asia/Tokyo'", transaction)
		_, err := migrate(t, target, r)
		require.NoError(t, err)
		require.Equal(t, []string{"3 1.10 DONE 7"}, ledger(t, conn))
	}
}

func TestWithoutTransactionTheRowIsStartedThenDone(t *testing.T) {
	t.Parallel()
	target := storetest.Empty(t)
	conn := connect(t, target)
	r := newRun(t, `CREATE TABLE seen AS SELECT status FROM rowrun_migration.ledger; CREATE TABLE t (n int);
CREATE INDEX CONCURRENTLY i ON t (n)`, false)
	output, err := migrate(t, target, r)
	require.NoError(t, err)
	require.Equal(t, "APPLIED", output["ledger"])
	require.Equal(t, "STARTED", value[string](t, conn, "SELECT status FROM seen"))
	require.Equal(t, []string{"3 1.10 DONE 7"}, ledger(t, conn))
	require.True(t, value[bool](t, conn, "SELECT finished_at > started_at FROM rowrun_migration.ledger"))
	require.True(t, value[bool](t, conn, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'i'::regclass"))
	output, err = migrate(t, target, r)
	require.NoError(t, err)
	require.Equal(t, "ALREADY_APPLIED", output["code"])
}

func TestPartlyAppliedNeedsAPerson(t *testing.T) {
	t.Parallel()
	target := storetest.Empty(t)
	conn := connect(t, target)
	const text = "CREATE TABLE IF NOT EXISTS t (n int); INSERT INTO t VALUES (1); SELECT 1/(SELECT count(*) FROM go)"
	_, err := migrate(t, target, newRun(t, text, false))
	f := failure(t, err)
	require.Equal(t, "42P01", f.Code)
	require.Equal(t, []string{"3 1.10 STARTED 7"}, ledger(t, conn))

	for _, transaction := range []bool{false, true} {
		automatic := newRun(t, text, transaction)
		automatic.ID, automatic.Manual = 8, false
		_, err = migrate(t, target, automatic)
		f = failure(t, err)
		require.False(t, f.Retryable)
		require.Equal(t, scheduler.CodeError, f.Code)
		require.Contains(t, f.Detail, "may have been applied in part")
		require.Empty(t, automatic.of("statement"))
		require.Equal(t, []string{"3 1.10 STARTED 7"}, ledger(t, conn))
	}

	execute(t, conn, "CREATE TABLE go AS SELECT 1")
	manual := newRun(t, text, false)
	manual.ID = 9
	output, err := migrate(t, target, manual)
	require.NoError(t, err)
	require.InEpsilon(t, 3, output["statements"], 0)
	require.Equal(t, []string{"3 1.10 DONE 9"}, ledger(t, conn))
	require.Equal(t, 2, value[int](t, conn, "SELECT count(*) FROM t"))
}

func TestRowGoesOnlyIfNothingWasDone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, code string
		rows             []string
	}{
		{"refused", "CREATE TABLE t (n int UNIQUE)", "42P07", []string{}},
		{"not parsed", "CREATE INDEX CONCURRENTLY ON", "42601", []string{}},
		{"unknown table", "CREATE INDEX CONCURRENTLY i ON missing (n)", "42P01", []string{}},
		{"unknown procedure", "CALL missing()", "42883", []string{}},
		{"error of data", "INSERT INTO t SELECT 1/0", "22012", []string{}},
		{"invalid index left", "CREATE UNIQUE INDEX CONCURRENTLY i ON t (n)", "23505", []string{"3 1.10 STARTED 7"}},
		{"error after a commit", "DO $$ BEGIN INSERT INTO t VALUES (5); COMMIT; PERFORM missing(); END $$", "42883", []string{"3 1.10 STARTED 7"}},
		{"second statement", "SELECT 1; CREATE TABLE t (n int)", "42P07", []string{"3 1.10 STARTED 7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			target := storetest.Empty(t)
			conn := connect(t, target)
			execute(t, conn, "CREATE TABLE t AS SELECT 1 AS n UNION ALL SELECT 1")
			_, err := migrate(t, target, newRun(t, c.text, false))
			require.Equal(t, c.code, failure(t, err).Code, err)
			require.Equal(t, c.rows, ledger(t, conn))
		})
	}
}

func TestRetryByAPersonKeepsTheRowOfAPartlyAppliedVersion(t *testing.T) {
	t.Parallel()
	target := storetest.Empty(t)
	conn := connect(t, target)
	const text = "CREATE TABLE t (n int); SELECT 1/0"
	_, err := migrate(t, target, newRun(t, text, false))
	require.Equal(t, "22012", failure(t, err).Code)
	manual := newRun(t, text, false)
	manual.ID = 8
	_, err = migrate(t, target, manual)
	require.Equal(t, "42P07", failure(t, err).Code)
	require.Equal(t, []string{"3 1.10 STARTED 8"}, ledger(t, conn), "its first statement was refused, but an earlier attempt had begun")

	// A person may also mend the text, with or without a transaction.
	mended := newRun(t, "CREATE TABLE IF NOT EXISTS t (n int); SELECT 1", true)
	mended.ID = 9
	_, err = migrate(t, target, mended)
	require.NoError(t, err)
	require.Equal(t, []string{"3 1.10 DONE 9"}, ledger(t, conn))
}

func TestCancelOfAMigration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text  string
		transaction bool
		rows        []string
	}{
		{"together", "SELECT pg_sleep(600)", true, []string{}},
		{"first statement", "SELECT pg_sleep(600)", false, []string{}},
		{"second statement", "SELECT 1; SELECT pg_sleep(600)", false, []string{"3 1.10 STARTED 7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			target := storetest.Empty(t)
			conn := connect(t, target)
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			r := newRun(t, c.text, c.transaction)
			go func() {
				_, err := executor(t, sqlexec.Target{URL: target}).Migrate().Execute(ctx, r.Run)
				done <- err
			}()
			eventually(t, conn, sleeping)
			cancel(scheduler.ErrTimeout)
			require.Equal(t, "57014", failure(t, <-done).Code)
			require.False(t, value[bool](t, conn, "SELECT "+sleeping))
			require.Equal(t, c.rows, ledger(t, conn))
		})
	}
}

func TestCancelWhileAnotherSessionApplies(t *testing.T) {
	t.Parallel()
	for _, transaction := range []bool{true, false} {
		target := storetest.Empty(t)
		conn := connect(t, target)
		ctx, cancel := context.WithCancelCause(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		r := newRun(t, "SELECT pg_sleep(600)", transaction)
		go func() {
			_, err := executor(t, sqlexec.Target{URL: target}).Migrate().Execute(ctx, r.Run)
			first <- err
		}()
		eventually(t, conn, sleeping)
		waiter, stop := context.WithCancelCause(t.Context())
		other := newRun(t, "SELECT pg_sleep(600)", transaction)
		other.ID = 8
		go func() {
			_, err := executor(t, sqlexec.Target{URL: target}).Migrate().Execute(waiter, other.Run)
			second <- err
		}()
		eventually(t, conn, `EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'rowrun:8'
			AND (query LIKE '%rowrun_version_lock%' OR wait_event_type = 'Lock'))`)
		stop(scheduler.ErrCanceled)
		require.Error(t, <-second)
		require.False(t, value[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'rowrun:8' AND wait_event_type = 'Lock')`))
		require.True(t, value[bool](t, conn, "SELECT "+sleeping), "the other one goes on")
		cancel(scheduler.ErrCanceled)
		require.Error(t, <-first)
	}
}

func TestLostConnectionWithoutTransactionLeavesTheRow(t *testing.T) {
	t.Parallel()
	target := storetest.Empty(t)
	conn := connect(t, target)
	prepareLedger(t, target)
	for _, c := range []struct {
		name  string
		proxy *proxy
		rows  []string
	}{
		{"answer of the first statement", &proxy{text: "AS witness"}, []string{"3 1.10 STARTED 7"}},
		{"answer of the ledger", &proxy{text: "rowrun_ledger_insert"}, []string{}},
		{"ledger", &proxy{text: "rowrun_ledger_insert", before: true}, []string{}},
	} {
		execute(t, conn, "DELETE FROM rowrun_migration.ledger")
		p := c.proxy.start(t, target)
		_, err := migrate(t, p.url, newRun(t, "SELECT 1 AS witness", false))
		p.tookHold(t)
		require.True(t, failure(t, err).Retryable)
		require.Equal(t, c.rows, ledger(t, conn), c.name)
	}
}

func TestDoneWhoseAnswerIsLostIsMarkedAgain(t *testing.T) {
	t.Parallel()
	target := storetest.Empty(t)
	prepareLedger(t, target)
	p := (&proxy{text: "rowrun_ledger_done"}).start(t, target)
	_, err := migrate(t, p.url, newRun(t, "SELECT 1", false))
	p.tookHold(t)
	require.NoError(t, err)
	require.Equal(t, []string{"3 1.10 DONE 7"}, ledger(t, connect(t, target)))
}

func TestLedgerThatMayNotBeMadeFailsWithItsReason(t *testing.T) {
	t.Parallel()
	target := storetest.Empty(t)
	conn := connect(t, target)
	role := "sqlexec_" + value[string](t, conn, "SELECT current_database()")
	execute(t, conn, "CREATE ROLE "+pgx.Identifier{role}.Sanitize()+" LOGIN PASSWORD 'x'")
	t.Cleanup(func() { _, _ = conn.Exec(context.Background(), "DROP ROLE "+pgx.Identifier{role}.Sanitize()) })
	u, err := url.Parse(target)
	require.NoError(t, err)
	u.User = url.UserPassword(role, "x")
	_, err = migrate(t, u.String(), newRun(t, "SELECT 1", true))
	f := failure(t, err)
	require.Equal(t, "42501", f.Code)
	require.Contains(t, f.Detail, "create the ledger rowrun_migration.ledger")
}
