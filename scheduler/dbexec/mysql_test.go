package dbexec_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/dbexec"
)

// ledger returns the rows of a target's ledger.
func ledger(t testing.TB, db *sql.DB) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT task_id, version, status, run_id, applied, coalesce(begun, 0)
		FROM rowrun_migration_ledger ORDER BY task_id, version`)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	var out []string
	for rows.Next() {
		var cells [6]string
		require.NoError(t, rows.Scan(&cells[0], &cells[1], &cells[2], &cells[3], &cells[4], &cells[5]))
		out = append(out, strings.Join(cells[:], " "))
	}
	require.NoError(t, rows.Err())
	return out
}

// executing is true while a statement that contains a text is executed on the server, apart from this question.
func executing(t testing.TB, db *sql.DB, text string) bool {
	t.Helper()
	return value[int](t, db, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE ? AND ID <> CONNECTION_ID()", "%"+text+"%") > 0
}

func TestMySQLAppliesAVersionOnce(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	const text = "CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2);\nALTER TABLE t ADD COLUMN m int"
	output, err := migrate(t, target, newRun(t, text, ""))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"ledger": "APPLIED", "statements": 3.0, "rows_affected": 2.0}, output)
	require.Equal(t, []string{"3 1.10 DONE 7 3 0"}, ledger(t, db))

	again := retry(t, text, "")
	again.Version = "01.10.0"
	output, err = migrate(t, target, again)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"code": "ALREADY_APPLIED", "applied_by_run": 7.0, "statements": 0.0, "rows_affected": 0.0}, output)
	require.Empty(t, again.of("statement"))

	_, err = migrate(t, target, newRun(t, text+" ", ""))
	f := failure(t, err)
	require.Equal(t, scheduler.CodeBadInput, f.Code)
	require.Contains(t, f.Detail, "with another text (by run 7")
	require.Equal(t, 2, value[int](t, db, "SELECT COUNT(*) FROM t"))
}

func TestMySQLTransactionTakesEffectAsAWhole(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	execute(t, db, "CREATE TABLE t (n int PRIMARY KEY)")
	for _, transaction := range []string{"true", ""} {
		r := newRun(t, "INSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2), (1)", transaction)
		_, err := migrate(t, target, r)
		f := failure(t, err)
		require.Equal(t, "23000", f.Code)
		require.True(t, f.Retryable)
		require.Regexp(t, `^statement 2 of 2 \(line 2, character 1\): ERROR 1062 \(23000\): Duplicate entry '1' for key '(t\.)?PRIMARY'$`, f.Detail)
		require.Equal(t, 0, value[int](t, db, "SELECT COUNT(*) FROM t"))
		require.Empty(t, ledger(t, db))
		require.Equal(t, "INSERT INTO t VALUES (2), (1)", r.of("error")[0]["sql"])
	}
	output, err := migrate(t, target, retry(t, "INSERT INTO t VALUES (1); UPDATE t SET n = n", "true"))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"ledger": "APPLIED", "statements": 2.0, "rows_affected": 2.0}, output)
}

func TestMySQLRefusesATransactionAroundDDL(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	_, err := migrate(t, target, newRun(t, "DO 1;\n CREATE TABLE t (n int)", "true"))
	f := failure(t, err)
	require.Equal(t, scheduler.CodeBadInput, f.Code)
	require.Contains(t, f.Detail, "statement 2 of 2 (line 2, character 2) is CREATE TABLE, which on "+string(target.Engine)+" can't be part of a transaction")

	// What commits behind its text is found.
	execute(t, db, "CREATE TABLE t (n int)")
	execute(t, db, "CREATE PROCEDURE p() BEGIN INSERT INTO t VALUES (1); CREATE TABLE u (n int); END")
	_, err = migrate(t, target, newRun(t, "CALL p(); INSERT INTO t VALUES (2)", "true"))
	f = failure(t, err)
	require.Contains(t, f.Detail, "statement 1 of 2 (line 1, character 1): the statement ended the transaction")
	require.False(t, f.Retryable)
}

func TestMySQLGoesOnBehindWhatIsApplied(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	const head = "SET @n = 5; CREATE TABLE a (n int); INSERT INTO a VALUES (@n); "
	_, err := migrate(t, target, newRun(t, head+"INSERT INTO missing VALUES (@n); CREATE TABLE b (n int)", ""))
	f := failure(t, err)
	require.Equal(t, "42S02", f.Code)
	require.False(t, f.Retryable)
	require.Equal(t, []string{"3 1.10 STARTED 7 3 0"}, ledger(t, db))

	// The text is mended behind them; the variable is set again.
	mended := retry(t, head+"INSERT INTO a VALUES (@n + 1); CREATE TABLE b (n int)", "")
	output, err := migrate(t, target, mended)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"ledger": "APPLIED", "statements": 2.0, "applied_before": 3.0, "rows_affected": 1.0}, output)
	require.Equal(t, 11, value[int](t, db, "SELECT SUM(n) FROM a"))
	require.Equal(t, []string{"3 1.10 DONE 8 5 0"}, ledger(t, db))
	require.Contains(t, mended.of("notice")[0]["message"], "run 7 has applied 3 of 5 statements")
}

func TestMySQLAsksAPersonWhereTheLedgerCanNotTell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, was, is string // texts
		applied       int
		begun         int
		before        string // what the database has by then
		automatic     string // "": it goes on; otherwise what its failure says
		recognized    bool
	}{
		{"a table that is there", "CREATE TABLE t (n int)", "", 0, 1, "CREATE TABLE t (n int)", "", true},
		{"a table that isn't", "CREATE TABLE t (n int)", "", 0, 1, "DO 1", "", false},
		{"a column that is there", "ALTER TABLE o ADD m int, ADD INDEX i (n)", "", 0, 1, "ALTER TABLE o ADD m int, ADD INDEX i (n)", "", true},
		{"a key without a name", "ALTER TABLE o ADD INDEX (n)", "", 0, 1, "DO 1", "statement 1 was sent, and % can't tell", false},
		{"rows that are gone", "TRUNCATE o", "", 0, 1, "DO 1", "statement 1 was sent, and % can't tell", false},
		{"nothing is lost", "OPTIMIZE TABLE o", "", 0, 1, "DO 1", "", false},
		{"another text of what is applied", "DO 1; CREATE TABLE t (n int)", "DO 2; CREATE TABLE t (n int)", 1, 0, "DO 1", "the text of what was applied is another now", false},
		{"another text of what was sent", "CREATE TABLE t (n int)", "CREATE TABLE t (m int)", 0, 1, "DO 1", "the text is another now", false},
		{"a temporary table", "CREATE TEMPORARY TABLE x (n int); INSERT INTO o SELECT n FROM x; SELECT broken", "", 0, 0, "", "made a temporary table", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			target, db := newDatabase(t)
			execute(t, db, "CREATE TABLE o (n int)")
			// An attempt that is refused leaves the row that the test then writes to.
			first := newRun(t, c.was+"; SELECT broken", "false")
			_, err := migrate(t, target, first)
			if c.before == "" {
				require.Error(t, err)
			} else {
				require.Error(t, err)
				execute(t, db, "DROP TABLE IF EXISTS t, o")
				execute(t, db, "CREATE TABLE o (n int)")
				execute(t, db, c.before)
				execute(t, db, "UPDATE rowrun_migration_ledger SET applied = ?, begun = NULLIF(?, 0), applied_sha256 = IF(? = 0, '', applied_sha256)", c.applied, c.begun, c.applied)
				if c.applied == 1 {
					execute(t, db, "UPDATE rowrun_migration_ledger SET applied_sha256 = 'of another text'")
				}
			}
			text := c.is
			if text == "" {
				text = c.was
			}
			second := retry(t, text+"; SELECT broken", "false")
			_, err = migrate(t, target, second)
			f := failure(t, err)
			if c.automatic == "" {
				require.Contains(t, f.Detail, "Unknown column 'broken'", "it went on to the end")
				require.Equal(t, c.recognized, second.of("statement")[0]["recognized"] != nil)
				return
			}
			require.Contains(t, f.Detail, strings.ReplaceAll(c.automatic, "%", string(target.Engine)))
			require.False(t, f.Retryable)
			require.Empty(t, second.of("statement"))
			// A person decides.
			person := newRun(t, text+"; SELECT broken", "false")
			person.ID = 9
			_, err = migrate(t, target, person)
			require.Contains(t, failure(t, err).Detail, "Unknown column 'broken'")
		})
	}
}

func TestMySQLCancelEndsTheStatement(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"SELECT SLEEP(3600)", "DO SLEEP(3600)", "SELECT SLEEP(3600) FROM t", "UPDATE t SET n = SLEEP(3600)", "CALL p()",
		"CREATE TABLE c AS " + hours + " AS 'SLEEP(3600)'", // where a SLEEP is ended, MySQL makes the table
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			target, db := newDatabase(t)
			execute(t, db, "CREATE TABLE t (n int)")
			execute(t, db, "INSERT INTO t VALUES (1)")
			database := value[string](t, db, "SELECT DATABASE()")
			execute(t, db, "CREATE DEFINER = "+database+"@'%' PROCEDURE p() BEGIN DO SLEEP(3600); INSERT INTO t VALUES (2); END")
			runs := func() bool {
				return value[int](t, db, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = ? AND INFO LIKE '%SLEEP(3600)%' AND ID <> CONNECTION_ID()", database) > 0
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := perform(ctx, t, target, newRun(t, text, ""))
				done <- err
			}()
			eventually(t, "the statement is executed", runs)
			cancel(scheduler.ErrCanceled)
			began := time.Now()
			f := failure(t, <-done)
			require.Less(t, time.Since(began), stopPatience)
			require.Contains(t, f.Detail, scheduler.ErrCanceled.Error())
			require.False(t, runs(), "nothing is executed when the run has ended")
			require.Equal(t, 1, value[int](t, db, "SELECT COUNT(*) FROM t"))
		})
	}
}

// stopPatience is within what a statement has before its session is ended.
const stopPatience = 8 * time.Second

func TestMySQLStatementTimeout(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	target.StatementTimeout = 300 * time.Millisecond
	_, err := perform(t.Context(), t, target, newRun(t, "SELECT SLEEP(3600)", ""))
	f := failure(t, err)
	require.Equal(t, "70100", f.Code)
	require.True(t, f.Retryable)
	require.Contains(t, f.Detail, "statement_timeout of 300ms is over")
	require.False(t, executing(t, db, "SELECT SLEEP(3600)%"+value[string](t, db, "SELECT DATABASE()")))
}

func TestMySQLLockTimeoutMayBeRetried(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	target.LockTimeout = time.Second
	execute(t, db, "CREATE TABLE t (n int PRIMARY KEY)")
	execute(t, db, "INSERT INTO t VALUES (1)")
	other, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Rollback()) }()
	_, err = other.ExecContext(t.Context(), "UPDATE t SET n = 1 WHERE n = 1; ")
	require.NoError(t, err)
	_, err = other.ExecContext(t.Context(), "SELECT * FROM t FOR UPDATE")
	require.NoError(t, err)
	for _, text := range []string{"DELETE FROM t", "ALTER TABLE t ADD m int"} {
		_, err = perform(t.Context(), t, target, newRun(t, text, ""))
		f := failure(t, err)
		require.Contains(t, f.Detail, "ERROR 1205 (HY000)")
		require.True(t, f.Retryable)
	}
}

func TestMySQLLostConnectionMayBeRetried(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	execute(t, db, "CREATE TABLE t (n int)")
	r := newRun(t, "INSERT INTO t VALUES (1); SELECT SLEEP(3600) AS 'lost'", "")
	done := make(chan error, 1)
	go func() {
		_, err := migrate(t, target, r)
		done <- err
	}()
	eventually(t, "the statement is executed", func() bool { return executing(t, db, "AS 'lost'") })
	execute(t, db, "KILL CONNECTION "+value[string](t, db, "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%AS ''lost''%' AND ID <> CONNECTION_ID()"))
	f := failure(t, <-done)
	require.True(t, f.Retryable)
	require.Equal(t, 0, value[int](t, db, "SELECT COUNT(*) FROM t"))
	require.Empty(t, ledger(t, db))
}

func TestMySQLProceduresWithDelimiter(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	text := "DELIMITER //\nCREATE PROCEDURE p()\nBEGIN\n  SELECT ';//' INTO @x; -- //\nEND//\ndelimiter ;\nCALL p(); /*!50000 CREATE TABLE t (n int) */;"
	text = strings.Replace(text, "-- //", "-- no delimiter", 1)
	output, err := migrate(t, target, newRun(t, text, ""))
	require.NoError(t, err)
	require.InDelta(t, 3, output["statements"], 0)
	require.Equal(t, 1, value[int](t, db, "SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()"))

	_, err = migrate(t, target, newRun(t, "CREATE PROCEDURE q() BEGIN SELECT 1; END;", ""))
	f := failure(t, err)
	require.Equal(t, scheduler.CodeBadInput, f.Code)
	require.Contains(t, f.Detail, "put DELIMITER //")
}

func TestMySQLNoTwoStatementsAreSentAsOne(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	execute(t, db, "CREATE TABLE t (n int)")
	_, err := perform(t.Context(), t, target, newRun(t, "DELIMITER //\nINSERT INTO t VALUES (1); INSERT INTO t VALUES (2)//", ""))
	require.Contains(t, failure(t, err).Detail, "ERROR 1064")
	require.Equal(t, 0, value[int](t, db, "SELECT COUNT(*) FROM t"))
}

func TestMySQLWarningsAreNotices(t *testing.T) {
	t.Parallel()
	target, _ := newDatabase(t)
	r := newRun(t, "DROP TABLE IF EXISTS nothing_here", "")
	_, err := perform(t.Context(), t, target, r)
	require.NoError(t, err)
	require.Contains(t, r.of("notice")[0]["message"], "nothing_here")
}

func TestMySQLSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	target, _ := newDatabase(t)
	r := newRun(t, "SET PASSWORD = 'geheim' geheim2", "")
	_, err := perform(t.Context(), t, target, r)
	f := failure(t, err)
	require.NotContains(t, f.Detail, "geheim'")
	require.Contains(t, f.Detail, "error 1064 of "+string(target.Engine))
	require.NotContains(t, r.of("error")[0]["sql"], "'geheim'")

	wrong, err := url.Parse(target.URL)
	require.NoError(t, err)
	wrong.User = url.UserPassword(wrong.User.Username(), "hunter2")
	target.URL = wrong.String()
	_, err = perform(t.Context(), t, target, newRun(t, "DO 1", ""))
	f = failure(t, err)
	require.Equal(t, "28000", f.Code)
	require.False(t, f.Retryable)
	require.NotContains(t, f.Detail, "hunter2")
	require.Contains(t, f.Detail, `connect to database "orders": ERROR 1045 (28000)`)
}

func TestMySQLEncryption(t *testing.T) {
	t.Parallel()
	target, _ := newDatabase(t)
	s := theServerOf(t)
	address, err := url.Parse(target.URL)
	require.NoError(t, err)
	another := dbexec.MySQL
	if target.Engine == another {
		another = dbexec.MariaDB
	}
	look := func(query string) (dbexec.Facts, error) {
		address.RawQuery = query
		return dbexec.Look(t.Context(), dbexec.Target{Engine: another, URL: address.String()})
	}
	for _, query := range []string{
		"", "ssl-mode=preferred", "ssl-mode=REQUIRED", "ssl-ca=" + s.ca, "ssl-mode=verify_ca&ssl-ca=" + s.ca, "ssl-mode=verify-identity&ssl-ca=" + s.ca,
	} {
		facts, err := look(query)
		require.NoError(t, err, query)
		require.Equal(t, target.Engine, facts.Engine)
		require.NotContains(t, facts.Notes, "the connection is not encrypted", query)
		require.Contains(t, facts.Notes, "its url says "+string(another))
	}
	facts, err := look("ssl-mode=disabled")
	require.NoError(t, err)
	require.Contains(t, facts.Notes, "the connection is not encrypted")
	_, err = look("ssl-mode=verify-identity")
	require.ErrorContains(t, err, "certificate")
	address.Host = strings.Replace(address.Host, "127.0.0.1", "localhost", 1)
	_, err = look("ssl-mode=verify-identity&ssl-ca=" + s.ca)
	require.ErrorContains(t, err, "certificate")
	_, err = look("ssl-mode=verify-ca&ssl-ca=" + s.ca)
	require.NoError(t, err)
}

func TestMySQLLedgerThatIsNoTableIsNotUsed(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	execute(t, db, "CREATE VIEW rowrun_migration_ledger AS SELECT 1")
	_, err := migrate(t, target, newRun(t, "DO 1", ""))
	require.Contains(t, failure(t, err).Detail, "the ledger rowrun_migration_ledger is not used: it is no table")
}
