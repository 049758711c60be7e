package dbexec_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/dbexec"
)

// looks is a database as SHOW CREATE TABLE and its rows tell it, without the ledger.
func looks(t testing.TB, db *sql.DB) string {
	t.Helper()
	var out strings.Builder
	for _, name := range column(t, db, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME <> 'rowrun_migration_ledger' ORDER BY 1") {
		fmt.Fprintln(&out, column(t, db, "SHOW CREATE TABLE `"+name+"`"), column(t, db, "SELECT * FROM `"+name+"`"))
	}
	fmt.Fprintln(&out, column(t, db, "SELECT EVENT_NAME, EXECUTE_AT, STARTS FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE()"))
	return out.String()
}

// column is what a query returns, a row a string.
func column(t testing.TB, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err, query)
	defer func() { require.NoError(t, rows.Close()) }()
	names, err := rows.Columns()
	require.NoError(t, err)
	var out []string
	for rows.Next() {
		cells, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		require.NoError(t, rows.Scan(into...))
		var row []string
		for _, cell := range cells {
			row = append(row, cell.String)
		}
		out = append(out, strings.Join(row, " "))
	}
	require.NoError(t, rows.Err())
	return out
}

// sentTwice is a statement, what the database has before and what an app does since: a person is asked ("asks"), or the server refuses the
// statement the second time, and that tells, or the statement is done again ("").
type sentTwice struct{ text, before, since, automatic string }

const (
	rows        = "CREATE TABLE t (a int, b int, c int, KEY i (a), KEY j (b)); INSERT INTO t VALUES (1, 2, 3)"
	plain       = "CREATE TABLE t (a int, b int, c int); INSERT INTO t VALUES (1, 2, 3)"
	empty       = "CREATE TABLE t (a int)" // without a row: MariaDB's purge holds the table for a moment after an INSERT, and NOWAIT is refused
	keyed       = "CREATE TABLE t (a int PRIMARY KEY, b int, c int, CONSTRAINT k CHECK (a < 100)); INSERT INTO t VALUES (1, 2, 3)"
	numbered    = "CREATE TABLE t (n int AUTO_INCREMENT PRIMARY KEY); INSERT INTO t VALUES (), (), ()"
	partitioned = "CREATE TABLE t (a int) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN (30))"
	written     = "UPDATE t SET a = 42"
	deleted     = "INSERT INTO t VALUES (), (); DELETE FROM t WHERE n > 2"
	taken       = "DO NEXT VALUE FOR s"
	inserted    = "INSERT INTO t VALUES (11)"
	nothing     = "DO 1"
)

// sentToBoth are statements that MySQL and MariaDB have.
func sentToBoth() []sentTwice {
	return []sentTwice{
		// A person is asked.
		{"ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN `B` TO a", plain, nothing, "asks"},
		{"ALTER TABLE t CHANGE a b int, CHANGE b a int", plain, nothing, "asks"},
		{"ALTER TABLE t RENAME INDEX i TO j, RENAME INDEX j TO i", rows, nothing, "asks"},
		{"ALTER TABLE t DROP COLUMN a, ADD COLUMN a int NOT NULL DEFAULT 7", plain, written, "asks"},
		{"ALTER TABLE t MODIFY a int UNIQUE", plain, nothing, "asks"},
		{"ALTER TABLE t CHANGE a a int UNIQUE KEY", plain, nothing, "asks"},
		{"ALTER TABLE t MODIFY a int AFTER b, MODIFY b int AFTER c", plain, nothing, "asks"},
		{"ALTER TABLE t ADD (INDEX (a), INDEX (b))", plain, nothing, "asks"},
		{"ALTER TABLE t AUTO_INCREMENT = 1", numbered, deleted, "asks"},
		{"ALTER TABLE t COMMENT 'x' AUTO_INCREMENT = 1", numbered, deleted, "asks"},
		{"ALTER TABLE t COMMENT 'x' PARTITION BY HASH (a) PARTITIONS 3", partitioned, "ALTER TABLE t ADD PARTITION PARTITIONS 1", "asks"},
		{"ALTER TABLE t TRUNCATE PARTITION p1", partitioned, inserted, "asks"},
		{"CREATE EVENT e ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 1 DAY DO DO 1", nothing, "DROP EVENT e", "asks"},
		// The refusal tells.
		{"ALTER TABLE t CHANGE a x int UNIQUE", plain, nothing, "ERROR 1054"},
		{"ALTER TABLE t DROP COLUMN a, ADD COLUMN x int", plain, nothing, "ERROR 1091"},
		{"ALTER TABLE t RENAME COLUMN `a` TO `x`, RENAME COLUMN `b` TO `y`", plain, nothing, "ERROR 1054"},
		{"ALTER TABLE t RENAME INDEX i TO x, DROP INDEX j", rows, nothing, "ERROR 1091"},
		{"ALTER TABLE t RENAME INDEX i TO x", rows, nothing, "ERROR 1176"},
		{"ALTER TABLE t MODIFY a int PRIMARY KEY", plain, nothing, "ERROR 1068"},
		{"ALTER TABLE t CHANGE a a int KEY", plain, nothing, "ERROR 1068"},
		{"ALTER TABLE t RENAME TO x, ADD COLUMN y int", plain, nothing, "ERROR 1146"},
		{"ALTER TABLE t ADD (x int, INDEX i (a))", plain, nothing, "ERROR 1060"},
		{"ALTER TABLE t ADD CONSTRAINT q UNIQUE (a)", plain, nothing, "ERROR 1061"},
		{"ALTER TABLE t DROP PARTITION p1", partitioned, nothing, "ERROR 1507"},
		{"ALTER TABLE t ADD PARTITION (PARTITION p3 VALUES LESS THAN (40))", partitioned, nothing, "ERROR 1517"},
		{"ALTER EVENT e RENAME TO f", "CREATE DEFINER = LOGIN@'%' EVENT e ON SCHEDULE EVERY 1 MONTH DO DO 1", nothing, "ERROR 1537"},
		// It is done again.
		{"ALTER TABLE t DROP INDEX i, ADD INDEX i (a, b)", rows, written, ""},
		{"ALTER TABLE t DROP CONSTRAINT k, ADD CONSTRAINT k CHECK (a < 1000)", keyed, written, ""},
		{"ALTER TABLE t DROP PRIMARY KEY, MODIFY b int PRIMARY KEY", keyed, written, ""},
		{"ALTER TABLE t MODIFY a int AFTER b, MODIFY c int AFTER a, MODIFY b bigint FIRST", plain, written, "asks"},
		{"ALTER TABLE t MODIFY b bigint FIRST, MODIFY a int AFTER b, MODIFY c int AFTER a", plain, written, ""},
		{"ALTER TABLE t MODIFY n int AUTO_INCREMENT COMMENT 'x'", numbered, deleted, ""},
		{"ALTER TABLE t ENGINE = InnoDB, CONVERT TO CHARACTER SET utf8mb4, ORDER BY n", numbered, deleted, ""},
		{"CREATE TABLE IF NOT EXISTS x AS SELECT 1 AS n", nothing, "DELETE FROM x", ""},
	}
}

// sentToMariaDB are statements, or refusals, that MariaDB alone has.
func sentToMariaDB() []sentTwice {
	return []sentTwice{
		{"ALTER TABLE t DROP COLUMN IF EXISTS `a`, ADD (a int)", plain, written, "asks"},
		{"ALTER TABLE t ADD COLUMN IF NOT EXISTS (x int, INDEX (b))", plain, nothing, "asks"},
		{"ALTER TABLE t NOWAIT ADD INDEX (a)", empty, nothing, "asks"},
		{"ALTER TABLE t WAIT 5 RENAME COLUMN a TO b, RENAME COLUMN b TO a", plain, nothing, "asks"},
		{"CREATE OR REPLACE TABLE t (a int)", plain, inserted, "asks"},
		{"CREATE OR REPLACE SEQUENCE s", "CREATE SEQUENCE s", taken, "asks"},
		{"ALTER SEQUENCE s RESTART WITH 1", "CREATE SEQUENCE s", taken, "asks"},
		{"ALTER TABLE t WAIT 5 ADD INDEX i (a)", plain, nothing, "ERROR 1061"},
		{"ALTER TABLE t ADD CONSTRAINT q CHECK (a < 100)", plain, nothing, "ERROR 1826"},
		{"ALTER TABLE t RENAME COLUMN IF EXISTS a TO x", plain, nothing, ""},
		{"ALTER TABLE t ADD INDEX IF NOT EXISTS (a), DROP INDEX IF EXISTS j", plain, written, ""},
		{"ALTER SEQUENCE s INCREMENT 2", "CREATE SEQUENCE s", taken, ""},
	}
}

// sentToMySQL are statements, or refusals, that MySQL alone has.
func sentToMySQL() []sentTwice {
	return []sentTwice{
		{"ALTER TABLE t ADD INDEX ((a + 1))", plain, nothing, "asks"},
		{"ALTER TABLE t ADD CHECK (a < 100)", plain, nothing, "asks"},
		{"ALTER TABLE t ADD COLUMN x int, ALGORITHM = INSTANT", plain, nothing, "ERROR 1060"},
		{"CREATE INDEX f ON t ((a + b))", plain, nothing, "ERROR 1061"},
		{"ALTER TABLE t ADD CONSTRAINT q CHECK (a < 100)", plain, nothing, "ERROR 3822"},
		{"ALTER TABLE t DROP CHECK k", keyed, nothing, "ERROR 3821"},
		{"ALTER TABLE t DROP CONSTRAINT k", keyed, nothing, "ERROR 3940"},
		{"ALTER TABLE t ALTER INDEX i INVISIBLE, ALTER COLUMN a SET DEFAULT 7", rows, written, ""},
		{"ALTER TABLE t ALTER CHECK k NOT ENFORCED", keyed, written, ""},
	}
}

// A statement that an attempt sent, without hearing of its end, had taken effect, and the app went on writing: what the next attempt
// does by itself leaves all as it is.
func TestMySQLStatementThatWasSentChangesNothingASecondTime(t *testing.T) {
	t.Parallel()
	cases := sentToMariaDB()
	if theServerOf(t).engine == dbexec.MySQL {
		cases = sentToMySQL()
	}
	for _, c := range append(cases, sentToBoth()...) {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			target, db := newDatabase(t)
			login := value[string](t, db, "SELECT DATABASE()")
			all := func(texts string) {
				for text := range strings.SplitSeq(strings.ReplaceAll(texts, "LOGIN", login), "; ") {
					execute(t, db, text)
				}
			}
			all(c.before)
			_, err := migrate(t, target, newRun(t, c.text, ""))
			require.NoError(t, err)
			all(c.since)
			execute(t, db, "UPDATE rowrun_migration_ledger SET status = 'STARTED', applied = 0, applied_sha256 = '', begun = 1")
			was := looks(t, db)
			next := retry(t, c.text, "")
			_, err = migrate(t, target, next)
			require.Equal(t, was, looks(t, db))
			if c.automatic == "asks" {
				require.Contains(t, failure(t, err).Detail, "statement 1 was sent, and "+string(target.Engine)+" can't tell whether it took effect")
				require.Empty(t, next.of("statement"))
				return
			}
			require.NoError(t, err)
			recognized, _ := next.of("statement")[0]["recognized"].(string)
			require.Equal(t, c.automatic, recognized[:min(len(recognized), len(c.automatic))])
			require.Equal(t, c.automatic == "", recognized == "")
		})
	}
}
