package dbexec_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/dbexec"
	"github.com/rowrun/rowrun/scheduler/targets"
)

// newFile returns a database of the test's own.
func newFile(t testing.TB, options string) (dbexec.Target, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a file.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	execute(t, db, "PRAGMA journal_mode = WAL")
	return dbexec.Target{Engine: dbexec.SQLite, URL: "sqlite:" + path + options}, db
}

func TestSQLiteAppliesAVersionOnce(t *testing.T) {
	t.Parallel()
	target, db := newFile(t, "")
	const text = `CREATE TABLE t (n integer); -- ;
		CREATE TRIGGER tr AFTER INSERT ON t BEGIN SELECT CASE new.n WHEN 1 THEN 2 END; UPDATE t SET n = n + 1; END;
		INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN m`
	output, err := migrate(t, target, newRun(t, text, ""))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"ledger": "APPLIED", "statements": 4.0, "rows_affected": 1.0}, output)
	require.Equal(t, 2, value[int](t, db, "SELECT n FROM t"))
	output, err = migrate(t, target, retry(t, text, "true"))
	require.NoError(t, err)
	require.Equal(t, "ALREADY_APPLIED", output["code"])
	_, err = migrate(t, target, retry(t, text+";", ""))
	require.Equal(t, scheduler.CodeBadInput, failure(t, err).Code)
}

func TestSQLiteTransactionTakesEffectAsAWhole(t *testing.T) {
	t.Parallel()
	target, db := newFile(t, "")
	_, err := migrate(t, target, newRun(t, "CREATE TABLE t (n integer);\n  INSERT INTO missing VALUES (1)", ""))
	f := failure(t, err)
	require.Equal(t, scheduler.CodeError, f.Code)
	require.False(t, f.Retryable)
	require.Contains(t, f.Detail, "statement 2 of 2 (line 2, character 3): ")
	require.Contains(t, f.Detail, "no such table: missing")
	require.Contains(t, f.Detail, "SQLITE_ERROR")
	require.Equal(t, 0, value[int](t, db, "SELECT count(*) FROM sqlite_schema WHERE name = 't'"))
	require.Equal(t, 0, value[int](t, db, "SELECT count(*) FROM rowrun_migration_ledger"))
}

func TestSQLiteStatementByStatement(t *testing.T) {
	t.Parallel()
	target, db := newFile(t, "")
	const head = "PRAGMA foreign_keys = OFF; CREATE TABLE t (n integer); VACUUM; BEGIN; INSERT INTO t VALUES (1); COMMIT; "
	_, err := migrate(t, target, newRun(t, head+"INSERT INTO missing VALUES (1)", ""))
	require.Contains(t, failure(t, err).Detail, "statement 7 of 7")
	require.Equal(t, []string{"3 1.10 STARTED 7 6 0"}, ledger(t, db))
	output, err := migrate(t, target, retry(t, head+"INSERT INTO t VALUES (2)", ""))
	require.NoError(t, err)
	require.InDelta(t, 6, output["applied_before"], 0)
	require.Equal(t, 2, value[int](t, db, "SELECT count(*) FROM t"))

	_, err = migrate(t, target, newRun(t, "VACUUM", "true"))
	require.Contains(t, failure(t, err).Detail, "is VACUUM, which on SQLite can't be part of a transaction")
}

func TestSQLiteTransactionOfTheTextOutlastsPragmas(t *testing.T) {
	t.Parallel()
	for _, pragma := range []string{"foreign_keys = ON", "auto_vacuum = FULL", "incremental_vacuum(1)", "user_version = 5"} {
		target, db := newFile(t, "")
		execute(t, db, "CREATE TABLE t (n integer)")
		text := "BEGIN; INSERT INTO t VALUES (1); PRAGMA " + pragma
		for _, run := range []func(*record) error{
			func(r *record) error { _, err := perform(t.Context(), t, target, r); return err },
			func(r *record) error { _, err := migrate(t, target, r); return err },
		} {
			err := run(newRun(t, text, ""))
			require.Contains(t, failure(t, err).Detail, "ended inside a transaction, which was rolled back", pragma)
			require.Equal(t, 0, value[int](t, db, "SELECT count(*) FROM t"))
			require.NoError(t, run(newRun(t, text+"; INSERT INTO t VALUES (2); COMMIT; INSERT INTO t VALUES (3)", "")), pragma)
			require.Equal(t, 3, value[int](t, db, "SELECT count(*) FROM t"))
			execute(t, db, "DELETE FROM t")
		}
	}
}

func TestSQLiteSavepointOutsideOfATransactionBeginsOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, rows string // rows is "" where the text ends within a transaction
	}{
		{"left open", "SAVEPOINT a; INSERT INTO t VALUES (2)", ""},
		{"released", "SAVEPOINT a; INSERT INTO t VALUES (2); RELEASE a", "1,2"},
		{"committed", "SAVEPOINT a; INSERT INTO t VALUES (2); COMMIT", "1,2"},
		{"rolled back", "SAVEPOINT a; INSERT INTO t VALUES (2); ROLLBACK; INSERT INTO t VALUES (3)", "1,3"},
		{"rolled back to and released", "SAVEPOINT a; DELETE FROM t; INSERT INTO t VALUES (2); ROLLBACK TO a; RELEASE a", "1"},
		{"rolled back to", "SAVEPOINT a; INSERT INTO t VALUES (2); ROLLBACK TO a; INSERT INTO t VALUES (3)", ""},
		{"of equal names", "SAVEPOINT a; INSERT INTO t VALUES (2); SAVEPOINT A; INSERT INTO t VALUES (3); ROLLBACK TO \"a\"; RELEASE [a]; RELEASE SAVEPOINT a", "1,2"},
		{"of equal names, one left open", "SAVEPOINT a; SAVEPOINT a; INSERT INTO t VALUES (2); RELEASE a", ""},
		{"nested, the outer one released", "SAVEPOINT a; SAVEPOINT b; INSERT INTO t VALUES (2); RELEASE a; INSERT INTO t VALUES (3)", "1,2,3"},
		{"nested, the inner one released", "SAVEPOINT a; SAVEPOINT b; INSERT INTO t VALUES (2); RELEASE b", ""},
		{"in a transaction", "BEGIN; SAVEPOINT a; INSERT INTO t VALUES (2); RELEASE a", ""},
		{"in a transaction that is committed", "BEGIN; SAVEPOINT a; INSERT INTO t VALUES (2); RELEASE a; COMMIT; SAVEPOINT a; RELEASE a", "1,2"},
		{"a table that is made anew", "SAVEPOINT a; CREATE TABLE u (n integer NOT NULL); INSERT INTO u SELECT n FROM t; DROP TABLE t; ALTER TABLE u RENAME TO t; RELEASE a", "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, run := range map[string]func(target dbexec.Target, r *record) error{
				"SQL":              func(target dbexec.Target, r *record) error { _, err := perform(t.Context(), t, target, r); return err },
				"DATABASE_MIGRATE": func(target dbexec.Target, r *record) error { _, err := migrate(t, target, r); return err },
			} {
				for _, text := range []string{"PRAGMA foreign_keys = ON; " + c.text, "PRAGMA foreign_keys = OFF; " + c.text + "; PRAGMA foreign_keys = ON"} {
					target, db := newFile(t, "")
					execute(t, db, "CREATE TABLE t (n integer)")
					execute(t, db, "INSERT INTO t VALUES (1)")
					err := run(target, newRun(t, text, ""))
					if c.rows == "" {
						require.Contains(t, failure(t, err).Detail, "ended inside a transaction, which was rolled back", name)
						require.Equal(t, "1", value[string](t, db, "SELECT group_concat(n) FROM t"), name)
						err = run(target, retry(t, text+"; COMMIT", "")) // as the failure says
						require.NoError(t, err, name)
						continue
					}
					require.NoError(t, err, name)
					require.Equal(t, c.rows, value[string](t, db, "SELECT group_concat(n) FROM t"), name)
				}
			}
		})
	}
}

func TestSQLiteGoesOnBehindASavepointThatIsReleased(t *testing.T) {
	t.Parallel()
	target, db := newFile(t, "")
	execute(t, db, "CREATE TABLE t (n integer)")
	const head = "PRAGMA foreign_keys = OFF; SAVEPOINT a; SAVEPOINT b; INSERT INTO t VALUES (1); RELEASE b; RELEASE a; SAVEPOINT a; INSERT INTO t VALUES (2); "
	_, err := migrate(t, target, newRun(t, head+"INSERT INTO missing VALUES (3); RELEASE a", ""))
	require.Contains(t, failure(t, err).Detail, "statement 9 of 10")
	require.Equal(t, []string{"3 1.10 STARTED 7 6 0"}, ledger(t, db), "what is released is counted with it, and what isn't is undone")
	_, err = migrate(t, target, retry(t, head+"INSERT INTO t VALUES (3); RELEASE a", ""))
	require.NoError(t, err)
	require.Equal(t, "1,2,3", value[string](t, db, "SELECT group_concat(n) FROM t"))
}

func TestSQLiteCountsWhatARELEASECommitsWithIt(t *testing.T) {
	t.Parallel()
	target, db := newFile(t, "")
	execute(t, db, "CREATE TABLE t (n integer)")
	const text = "PRAGMA foreign_keys = OFF; SAVEPOINT a; INSERT INTO t VALUES (1); RELEASE a; INSERT INTO t VALUES (2)"
	ctx, cancel := context.WithCancelCause(t.Context())
	r := newRun(t, text, "")
	keep := r.Log
	r.Log = func(ctx context.Context, kind string, detail any) error {
		if kind == "statement" && object(t, detail)["index"] == 4.0 {
			cancel(scheduler.ErrCanceled) // right behind RELEASE
		}
		return keep(ctx, kind, detail)
	}
	_, err := executor(t, target).Migrate().Execute(ctx, r.Run)
	require.Contains(t, failure(t, err).Detail, scheduler.ErrCanceled.Error())
	require.Equal(t, []string{"3 1.10 STARTED 7 4 0"}, ledger(t, db))
	_, err = migrate(t, target, retry(t, text, ""))
	require.NoError(t, err)
	require.Equal(t, "1,2", value[string](t, db, "SELECT group_concat(n) FROM t"))
}

func TestSQLiteAsksForTheLastRowID(t *testing.T) {
	t.Parallel()
	target, _ := newFile(t, "")
	const text = "CREATE TABLE t (n integer); VACUUM; INSERT INTO t VALUES (1); INSERT INTO missing VALUES (last_insert_rowid())"
	_, err := migrate(t, target, newRun(t, text, ""))
	require.Contains(t, failure(t, err).Detail, "statement 4 of 4")
	_, err = migrate(t, target, retry(t, text, ""))
	require.Contains(t, failure(t, err).Detail, "statement 4 reads last_insert_rowid()")
}

func TestSQLiteKeepsToItsFile(t *testing.T) {
	t.Parallel()
	target, _ := newFile(t, "")
	for _, c := range []struct{ text, says string }{
		{"ATTACH '/tmp/x' AS y", "ATTACH reaches other files"},
		{"/* */ attach '/tmp/x' as y", "ATTACH reaches other files"},
		{"VACUUM INTO '/tmp/x'", "VACUUM INTO writes another file"},
		{"PRAGMA temp_store_directory = '/tmp'", "sets a directory for the whole sidecar"},
		{"PRAGMA writable_schema = ON", "is the sidecar's to set"},
		{`PRAGMA "writable_schema" = ON`, "whose name is quoted"},
		{"EXPLAIN PRAGMA hard_heap_limit = 8000000", "not authorized"},
		{`EXPLAIN QUERY PLAN PRAGMA main."locking_mode" = EXCLUSIVE`, "not authorized"},
		{"SELECT load_extension('x')", "not authorized"},
		{".read x", "a command of SQLite's shell"},
		{"LISTEN x", "LISTEN is PostgreSQL's, and SQLite doesn't have it"},
		{"TRUNCATE t", "SQLite has no TRUNCATE"},
		{"SELECT 'x", "a string that does not end begins"},
	} {
		for _, transaction := range []string{"", "false"} {
			_, err := perform(t.Context(), t, target, newRun(t, c.text, transaction))
			require.Contains(t, failure(t, err).Detail, c.says, c.text)
			require.False(t, failure(t, err).Retryable)
		}
	}
}

func TestSQLiteWaitsForALock(t *testing.T) {
	t.Parallel()
	target, db := newFile(t, "")
	execute(t, db, "CREATE TABLE t (n integer)")
	other, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	_, err = other.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	brief := target
	brief.LockTimeout = 50 * time.Millisecond
	for _, transaction := range []string{"true", "false"} {
		_, err = perform(t.Context(), t, brief, newRun(t, "INSERT INTO t VALUES (1)", transaction))
		f := failure(t, err)
		require.True(t, f.Retryable)
		require.Contains(t, f.Detail, "SQLITE_BUSY")
	}
	// Whoever waits longer is canceled at once.
	long := target
	long.LockTimeout = time.Hour
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := time.AfterFunc(100*time.Millisecond, func() { cancel(scheduler.ErrCanceled) })
	defer stop.Stop()
	_, err = perform(ctx, t, long, newRun(t, "INSERT INTO t VALUES (1)", ""))
	require.Contains(t, failure(t, err).Detail, scheduler.ErrCanceled.Error())
	// And gets the lock when it is given back.
	done := make(chan error, 1)
	go func() {
		_, err := perform(t.Context(), t, long, newRun(t, "INSERT INTO t VALUES (1)", ""))
		done <- err
	}()
	_, err = other.ExecContext(t.Context(), "COMMIT")
	require.NoError(t, err)
	require.NoError(t, <-done)
}

func TestWhatEndsARunBeforeItIsConnectedIsNamed(t *testing.T) {
	t.Parallel()
	target, db := newFile(t, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(scheduler.ErrDrained)
	_, err := perform(ctx, t, target, newRun(t, "CREATE TABLE t (n integer)", ""))
	require.Contains(t, failure(t, err).Detail, scheduler.ErrDrained.Error())
	require.Zero(t, value[int](t, db, "SELECT count(*) FROM sqlite_schema"))
}

const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"

func TestSQLiteCancelAndTimeoutEndTheStatement(t *testing.T) {
	t.Parallel()
	target, db := newFile(t, "")
	execute(t, db, "CREATE TABLE t (n integer)")
	ctx, cancel := context.WithCancelCause(t.Context())
	r := newRun(t, "INSERT INTO t VALUES (1); "+endless, "")
	done := make(chan error, 1)
	go func() {
		_, err := executor(t, target).Execute(ctx, r.Run)
		done <- err
	}()
	eventually(t, "the first statement is executed", func() bool { return len(r.of("statement")) == 1 })
	cancel(scheduler.ErrDrained)
	require.Contains(t, failure(t, <-done).Detail, scheduler.ErrDrained.Error())
	require.Equal(t, 0, value[int](t, db, "SELECT count(*) FROM t"))

	target.StatementTimeout = 100 * time.Millisecond
	_, err := perform(t.Context(), t, target, newRun(t, endless, ""))
	f := failure(t, err)
	require.Equal(t, "70100", f.Code)
	require.Contains(t, f.Detail, "statement_timeout of 100ms is over")
}

// SQLite reads a busy_timeout that is longer than it takes as none.
func TestTheLongestTimeoutsAreWhatTheEngineTakes(t *testing.T) {
	t.Parallel()
	target, db := newFile(t, "")
	target.LockTimeout, target.StatementTimeout = targets.MaxTimeout, targets.MaxTimeout
	_, err := perform(t.Context(), t, target, newRun(t, "CREATE TABLE t AS SELECT * FROM pragma_busy_timeout", ""))
	require.NoError(t, err)
	require.Equal(t, 2147483647, value[int](t, db, "SELECT timeout FROM t"))
	for says, longer := range map[string]dbexec.Target{
		`database "a": lock_timeout: 720h0m0s is not accepted`:      {Engine: dbexec.SQLite, URL: target.URL, LockTimeout: 720 * time.Hour},
		`database "a": statement_timeout: 720h0m0s is not accepted`: {Engine: dbexec.MySQL, URL: "mysql://h/d", StatementTimeout: 720 * time.Hour},
		`database "a": statement_timeout is negative`:               {Engine: dbexec.SQLite, URL: target.URL, StatementTimeout: -1},
	} {
		_, err := dbexec.New(dbexec.Config{Deployment: deployment, Targets: map[string]dbexec.Target{"a": longer}})
		require.ErrorContains(t, err, says)
	}
}

func TestSidecarKilledInATransactionOfSQLite(t *testing.T) {
	t.Parallel()
	target, db := newFile(t, "")
	const text = "CREATE TABLE t (n integer); INSERT INTO t VALUES (1); "
	kill := sidecar(t, target, text+endless)
	// It holds the lock for writing.
	eventually(t, "it writes", func() bool {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		_, err = conn.ExecContext(t.Context(), "PRAGMA busy_timeout = 0")
		require.NoError(t, err)
		if _, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
			return true
		}
		_, err = conn.ExecContext(t.Context(), "ROLLBACK")
		require.NoError(t, err)
		return false
	})
	kill()
	output, err := migrate(t, target, retry(t, text, ""))
	require.NoError(t, err)
	require.Equal(t, "APPLIED", output["ledger"])
	require.Equal(t, 1, value[int](t, db, "SELECT count(*) FROM t"))
}

func TestSQLiteForeignKeysAreTheURLs(t *testing.T) {
	t.Parallel()
	for options, refused := range map[string]bool{"": false, "?foreign_keys=off": false, "?foreign_keys=on": true} {
		target, db := newFile(t, options)
		execute(t, db, "CREATE TABLE p (id integer PRIMARY KEY)")
		execute(t, db, "CREATE TABLE c (p integer REFERENCES p)")
		_, err := perform(t.Context(), t, target, newRun(t, "INSERT INTO c VALUES (1)", ""))
		if !refused {
			require.NoError(t, err)
			continue
		}
		require.Contains(t, failure(t, err).Detail, "FOREIGN KEY constraint failed (787)")
	}
}

func TestSQLiteFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "new.db")
	_, err := perform(t.Context(), t, dbexec.Target{Engine: dbexec.SQLite, URL: "sqlite:" + path}, newRun(t, "SELECT 1", ""))
	require.Equal(t, `connect to database "orders": its file can't be used: no such file or directory; with ?mode=rwc it would be made`, failure(t, err).Detail)
	facts, err := dbexec.Look(t.Context(), dbexec.Target{Engine: dbexec.SQLite, URL: "sqlite:" + path + "?mode=rwc"})
	require.NoError(t, err)
	require.NotEmpty(t, facts.Version)
	require.Equal(t, []string{"the file isn't there yet: the first run makes it"}, facts.Notes)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "a look makes nothing")
	_, err = dbexec.Look(t.Context(), dbexec.Target{Engine: dbexec.SQLite, URL: "sqlite:" + filepath.Join(dir, "none", "new.db") + "?mode=rwc"})
	require.ErrorContains(t, err, "its file can't be made")
	_, err = perform(t.Context(), t, dbexec.Target{Engine: dbexec.SQLite, URL: "file:" + path + "?mode=rwc"}, newRun(t, "CREATE TABLE t (n)", ""))
	require.NoError(t, err)
	_, err = perform(t.Context(), t, dbexec.Target{Engine: dbexec.SQLite, URL: "sqlite:" + path + "?mode=ro"}, newRun(t, "SELECT * FROM t", ""))
	require.NoError(t, err)
	_, err = perform(t.Context(), t, dbexec.Target{Engine: dbexec.SQLite, URL: "sqlite:" + path + "?mode=ro"}, newRun(t, "CREATE TABLE u (n)", ""))
	require.Contains(t, failure(t, err).Detail, "SQLITE_READONLY")
	facts, err = dbexec.Look(t.Context(), dbexec.Target{Engine: dbexec.SQLite, URL: "sqlite:" + path})
	require.NoError(t, err)
	require.Equal(t, path, facts.Login)
	require.Empty(t, facts.Doubts)
}
