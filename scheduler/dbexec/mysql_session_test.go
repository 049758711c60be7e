package dbexec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
)

func TestMySQLVersionThatCommitsBehindItsTextIsNotDone(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	execute(t, db, "CREATE TABLE t (n int)")
	execute(t, db, "CREATE PROCEDURE add_column() BEGIN INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN m int; END")
	const text = "INSERT INTO t (n) VALUES (0); CALL add_column(); UPDATE t SET m = 5"
	_, err := migrate(t, target, newRun(t, text, ""))
	f := failure(t, err)
	require.Contains(t, f.Detail, "statement 2 of 3 (line 1, character 31): the statement ended the transaction")
	require.False(t, f.Retryable)
	require.Equal(t, []string{"3 1.10 STARTED 7 1 2"}, ledger(t, db))

	again := retry(t, text, "")
	_, err = migrate(t, target, again)
	require.Contains(t, failure(t, err).Detail, "statement 2 was sent, and "+string(target.Engine)+" can't tell whether it took effect")
	require.Empty(t, again.of("statement"))

	execute(t, db, "DROP PROCEDURE add_column")
	execute(t, db, "CREATE PROCEDURE add_column() DO 1")
	person := newRun(t, text, "false")
	person.ID = 9
	output, err := migrate(t, target, person)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"ledger": "APPLIED", "statements": 2.0, "applied_before": 1.0, "rows_affected": 2.0}, output)
	require.Equal(t, 10, value[int](t, db, "SELECT SUM(m) FROM t"))
	require.Equal(t, []string{"3 1.10 DONE 9 3 0"}, ledger(t, db))
}

func TestMySQLProcedureThatCommitsNothingIsPartOfTheTransaction(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	execute(t, db, "CREATE TABLE t (n int)")
	execute(t, db, "CREATE PROCEDURE p() INSERT INTO t VALUES (1)")
	_, err := migrate(t, target, newRun(t, "CALL p(); INSERT INTO missing VALUES (1)", ""))
	require.Contains(t, failure(t, err).Detail, "statement 2 of 2")
	require.Empty(t, ledger(t, db))
	_, err = migrate(t, target, retry(t, "CALL p(); INSERT INTO t VALUES (2)", ""))
	require.NoError(t, err)
	require.Equal(t, 2, value[int](t, db, "SELECT COUNT(*) FROM t"))
	require.Contains(t, ledger(t, db)[0], "3 1.10 DONE 8 ")
}

func TestMySQLCommitThatTheWordsHideIsFound(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	execute(t, db, "CREATE TABLE t (n int)")
	// A comment for a server that is newer than any.
	const text = "INSERT INTO t VALUES (1); /*!999999 DO 1, */ COMMIT"
	_, err := perform(t.Context(), t, target, newRun(t, text, ""))
	f := failure(t, err)
	require.Contains(t, f.Detail, "the statement ended the transaction")
	require.False(t, f.Retryable)
	_, err = migrate(t, target, newRun(t, text, ""))
	require.Contains(t, failure(t, err).Detail, "the statement ended the transaction")
	require.Contains(t, ledger(t, db)[0], "STARTED")
}

func TestMySQLProcedureThatCommitsATransactionOfTheTextIsNotRepeated(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	execute(t, db, "CREATE TABLE t (n int)")
	execute(t, db, "CREATE PROCEDURE p() BEGIN INSERT INTO t VALUES (1); COMMIT; SIGNAL SQLSTATE '45000'; END")
	const text = "START TRANSACTION; CALL p(); COMMIT"
	_, err := migrate(t, target, newRun(t, text, ""))
	require.Contains(t, failure(t, err).Detail, "statement 2 of 3")
	require.Equal(t, []string{"3 1.10 STARTED 7 1 2"}, ledger(t, db))
	_, err = migrate(t, target, retry(t, text, ""))
	require.Contains(t, failure(t, err).Detail, "statement 2 was sent")
	require.Equal(t, 1, value[int](t, db, "SELECT COUNT(*) FROM t"))
}

func TestMariaDBSetStatementIsTheStatementBehindIt(t *testing.T) {
	t.Parallel()
	target, db := ofMariaDB(t)
	const head = "CREATE TABLE t (n int); SET STATEMENT max_statement_time = 60 FOR INSERT INTO t VALUES (1); "
	_, err := migrate(t, target, newRun(t, head+"INSERT INTO missing VALUES (1)", ""))
	require.Contains(t, failure(t, err).Detail, "statement 3 of 3")
	output, err := migrate(t, target, retry(t, head+"INSERT INTO t VALUES (2)", ""))
	require.NoError(t, err)
	require.InDelta(t, 2, output["applied_before"], 0)
	require.Equal(t, 3, value[int](t, db, "SELECT SUM(n) FROM t"))

	_, err = perform(t.Context(), t, target, newRun(t, "DELETE FROM t; SET STATEMENT lock_wait_timeout = 5 FOR ALTER TABLE t ADD m int", "true"))
	require.Equal(t, scheduler.CodeBadInput, failure(t, err).Code)
	require.Equal(t, 2, value[int](t, db, "SELECT COUNT(*) FROM t"))
}

func TestMySQLValuesThatWentWithTheSessionAreAskedFor(t *testing.T) {
	t.Parallel()
	const head = "CREATE TABLE a (id int AUTO_INCREMENT PRIMARY KEY); INSERT INTO a VALUES (41), (NULL); "
	for _, c := range []struct{ name, text, automatic string }{
		{"a variable of the last id", "SET @id = LAST_INSERT_ID(); CREATE TABLE b (n int); SELECT broken, @id", "statement 3 made a variable"},
		{"a variable of a query", "SET @n = 1, @max = (SELECT MAX(id) FROM a); CREATE TABLE b (n int); SELECT broken, @max", "statement 3 made a variable"},
		{"the last id", "CREATE TABLE b (n int); SELECT broken; INSERT INTO b VALUES (LAST_INSERT_ID())", "statement 5 reads LAST_INSERT_ID()"},
		{"the last id by its other name", "SELECT broken, @@identity", "statement 3 reads @@identity"},
		{"rows found", "SELECT SQL_CALC_FOUND_ROWS 1 FROM a LIMIT 1; SELECT broken, FOUND_ROWS()", "statement 4 reads FOUND_ROWS()"},
		{"a procedure that would read it", "CREATE TABLE b (n int); SELECT broken; CREATE PROCEDURE p() SELECT LAST_INSERT_ID()", ""},
		{"a variable of a value", "SET @n = (1 + 2) * 3, @m = @n; CREATE TABLE b (n int); SELECT broken, @n", ""},
		{"a setting", "SET sql_mode = CONCAT(@@sql_mode, ',ALLOW_INVALID_DATES'); CREATE TABLE b (n int); SELECT broken", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			target, _ := newDatabase(t)
			_, err := migrate(t, target, newRun(t, head+c.text, ""))
			require.Contains(t, failure(t, err).Detail, "Unknown column 'broken'")
			second := retry(t, head+c.text, "")
			_, err = migrate(t, target, second)
			f := failure(t, err)
			if c.automatic == "" {
				require.Contains(t, f.Detail, "Unknown column 'broken'", "it goes on")
				return
			}
			require.Contains(t, f.Detail, c.automatic)
			require.False(t, f.Retryable)
			require.Empty(t, second.of("statement"))
		})
	}
}

func TestMySQLVariablesThatWentWithTheSessionAreAskedFor(t *testing.T) {
	t.Parallel()
	const head = "CREATE TABLE b (n int); "
	for _, c := range []struct{ name, text, automatic string }{
		{"an OUT argument", "CALL out_of(@out); SELECT broken; INSERT INTO b VALUES (@Out)", "statement 4 reads @out, which went with the session of statement 2"},
		{"an OUT argument that SET had given a value", "SET @out = 1; CALL out_of(@out); SELECT broken; INSERT INTO b VALUES (@out)", "statement 5 reads @out, which went with the session of statement 3"},
		{"a variable of a procedure", "SET @seen = 1; CALL sets(); SELECT broken; INSERT INTO b VALUES (@seen)", "statement 5 reads @seen, which went with the session"},
		{"a variable of a trigger", "INSERT INTO a VALUES (7); SELECT broken; INSERT INTO b VALUES (@of_trigger)", "statement 4 reads @of_trigger, which went with the session"},
		{"a variable of an UPDATE", "SET @i = 0; UPDATE a SET n = (@i := @i + 1); SELECT broken; INSERT INTO b VALUES (@i)", "statement 5 reads @i, which went with the session of statement 3"},
		{"a SET of it that is sent again", "CALL out_of(@out); SET @copy = @out; SELECT broken; INSERT INTO b VALUES (@copy)", "statement 3 reads @out, which went with the session of statement 2"},
		{"an argument that is still to come", "INSERT INTO a VALUES (7); SELECT broken; CALL out_of(@out); INSERT INTO b VALUES (@out)", ""},
		{"a value that SET gave", "SET @n = 3; INSERT INTO a VALUES (7); SELECT broken; INSERT INTO b VALUES (@n)", ""},
		{"a value that SET gives later", "CALL out_of(@out); SELECT broken; SET @out = 4; INSERT INTO b VALUES (@out)", ""},
		{"a variable that only DDL stood before", "SELECT broken; INSERT INTO b VALUES (@nobody)", ""},
		{"another's variable", "CALL out_of(@out); SELECT broken; SET @x = 1; INSERT INTO b VALUES (@x)", ""},
		{"the name of a login", "INSERT INTO a VALUES (7); SELECT broken; CREATE DEFINER=CURRENT_USER PROCEDURE p() SELECT @out; SHOW GRANTS", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			target, db := newDatabase(t)
			execute(t, db, "CREATE TABLE a (n int)")
			execute(t, db, "CREATE TRIGGER of_a AFTER INSERT ON a FOR EACH ROW SET @of_trigger = NEW.n")
			execute(t, db, "CREATE PROCEDURE out_of(OUT n int) SET n = 42")
			execute(t, db, "CREATE PROCEDURE sets() SET @seen = 2")
			text := head + c.text
			_, err := migrate(t, target, newRun(t, text, ""))
			require.Contains(t, failure(t, err).Detail, "Unknown column 'broken'")
			mended := retry(t, strings.ReplaceAll(text, "SELECT broken", "DO 1"), "")
			_, err = migrate(t, target, mended)
			if c.automatic == "" {
				require.NoError(t, err, "it goes on")
				return
			}
			f := failure(t, err)
			require.Contains(t, f.Detail, c.automatic)
			require.False(t, f.Retryable)
			require.Empty(t, mended.of("statement"))
			require.Equal(t, 0, value[int](t, db, "SELECT COUNT(*) FROM b"), "not even NULL")

			// The value stands in the text, behind what is applied.
			_, err = migrate(t, target, retry(t, text[:strings.Index(text, "SELECT broken")]+"INSERT INTO b VALUES (42)", ""))
			if strings.Contains(c.text, "SET @copy") { // what is applied asks for it
				require.Contains(t, failure(t, err).Detail, c.automatic)
				return
			}
			require.NoError(t, err)
			require.Equal(t, 42, value[int](t, db, "SELECT n FROM b"))
		})
	}
}

func TestMySQLGoesOnWhereAPersonAnswersForTheLastID(t *testing.T) {
	t.Parallel()
	const head = "CREATE TABLE a (id int AUTO_INCREMENT PRIMARY KEY, n int); INSERT INTO a (n) VALUES (5); "
	for _, c := range []struct {
		rest   string
		manual bool
	}{
		{"INSERT INTO a (n) VALUES (6); INSERT INTO a VALUES (10, LAST_INSERT_ID())", true},
		{"INSERT INTO a (n) VALUES (6); INSERT INTO a VALUES (10, 2)", false}, // the text is mended
	} {
		target, db := newDatabase(t)
		_, err := migrate(t, target, newRun(t, head+"INSERT INTO missing VALUES (LAST_INSERT_ID())", ""))
		require.Contains(t, failure(t, err).Detail, "statement 3 of 3")
		next := retry(t, head+c.rest, "")
		next.Manual = c.manual
		output, err := migrate(t, target, next)
		require.NoError(t, err)
		require.InDelta(t, 2, output["applied_before"], 0)
		require.Equal(t, 2, value[int](t, db, "SELECT n FROM a WHERE id = 10"))
	}
}

func TestMySQLDoubtIsOfTheStatementThatWasSent(t *testing.T) {
	t.Parallel()
	for _, manual := range []bool{false, true} {
		for _, text := range []string{"SET @n = 1; USE `%`; CREATE TABLE t (n int); INSERT INTO t VALUES (@n)", "SET @n = 1; CREATE TABLE t (n int); INSERT INTO t VALUES (@n)"} {
			target, db := newDatabase(t)
			text = strings.ReplaceAll(text, "%", value[string](t, db, "SELECT DATABASE()"))
			_, err := migrate(t, target, newRun(t, text, ""))
			require.NoError(t, err)
			// As a crash between CREATE TABLE and its count leaves it.
			execute(t, db, "DELETE FROM t")
			execute(t, db, "UPDATE rowrun_migration_ledger SET status = 'STARTED', applied = 0, applied_sha256 = '', begun = ?", strings.Count(text, ";"))
			next := retry(t, text, "")
			next.Manual = manual
			_, err = migrate(t, target, next)
			require.NoError(t, err)
			require.Contains(t, next.of("statement")[strings.Count(text, ";")-1]["recognized"], "ERROR 1050")
			require.Equal(t, 1, value[int](t, db, "SELECT COUNT(*) FROM t"))
		}
	}
}

func TestMySQLSavepointsOfTheText(t *testing.T) {
	t.Parallel()
	for _, transaction := range []string{"", "true", "false"} {
		target, db := newDatabase(t)
		execute(t, db, "CREATE TABLE t (n int)")
		execute(t, db, "CREATE PROCEDURE p() INSERT INTO t VALUES (20)")
		text := "INSERT INTO t VALUES (1); SAVEPOINT a; CALL p(); INSERT INTO t VALUES (2); ROLLBACK TO a; CALL p(); RELEASE SAVEPOINT a"
		if transaction == "false" {
			text = "START TRANSACTION; " + text + "; COMMIT"
		}
		_, err := migrate(t, target, newRun(t, text, transaction))
		require.NoError(t, err, transaction)
		require.Equal(t, 21, value[int](t, db, "SELECT SUM(n) FROM t"))
		require.Contains(t, ledger(t, db)[0], "DONE")
	}
}

func TestMySQLProcedureOfAnyLength(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	body := "BEGIN\n" + strings.Repeat("SET @x = 1 + 1;\n", 2000) + "END"
	_, err := migrate(t, target, newRun(t, "DELIMITER //\nCREATE PROCEDURE p()\n"+body+" //\nCREATE PROCEDURE q()\nl: "+body+" l //\n", ""))
	require.NoError(t, err)
	require.Equal(t, 2, value[int](t, db, "SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()"))
	_, err = migrate(t, target, newRun(t, "CREATE PROCEDURE q()\n"+body, ""))
	require.Contains(t, failure(t, err).Detail, "put DELIMITER //")
}

func TestMySQLTransactionThatIsLeftOpenIsNotDone(t *testing.T) {
	t.Parallel()
	const procedure = "CREATE PROCEDURE p() BEGIN START TRANSACTION; INSERT INTO t VALUES (1); END"
	for _, c := range []struct{ name, text string }{
		{"by a procedure", "CALL p()"},
		{"by a procedure before others", "CALL p(); INSERT INTO t VALUES (2); DO 1"},
		{"by COMMIT", "SET completion_type = 1; START TRANSACTION; COMMIT; INSERT INTO t VALUES (1)"},
		{"behind what ends none", "START TRANSACTION; INSERT INTO t VALUES (1); UNLOCK TABLES"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			target, db := newDatabase(t)
			execute(t, db, "CREATE TABLE t (n int)")
			execute(t, db, procedure)
			_, err := perform(t.Context(), t, target, newRun(t, c.text, "false"))
			require.Contains(t, failure(t, err).Detail, "ended inside a transaction, which was rolled back")
			require.Equal(t, 0, value[int](t, db, "SELECT COUNT(*) FROM t"))
			_, err = perform(t.Context(), t, target, newRun(t, c.text+"; COMMIT AND NO CHAIN", "false"))
			require.NoError(t, err)
			require.Positive(t, value[int](t, db, "SELECT COUNT(*) FROM t"))
		})
	}

	target, db := newDatabase(t)
	execute(t, db, "CREATE TABLE t (n int)")
	execute(t, db, procedure)
	const text = "CREATE TABLE u (n int); CALL p(); INSERT INTO t VALUES (2)"
	_, err := migrate(t, target, newRun(t, text, ""))
	require.Contains(t, failure(t, err).Detail, "ended inside a transaction, which was rolled back")
	require.Equal(t, 0, value[int](t, db, "SELECT COUNT(*) FROM t"))
	require.Equal(t, []string{"3 1.10 STARTED 7 1 2"}, ledger(t, db))
	person := newRun(t, text+"; COMMIT", "")
	_, err = migrate(t, target, person)
	require.NoError(t, err)
	require.Equal(t, 2, value[int](t, db, "SELECT COUNT(*) FROM t"))
	require.Equal(t, []string{"3 1.10 DONE 7 4 0"}, ledger(t, db))
}
