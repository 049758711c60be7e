package dbexec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func texts(t testing.TB, e engine, text string) []string {
	t.Helper()
	out := []string{}
	statements, err := e.split(text)
	require.NoError(t, err, text)
	for _, s := range statements {
		out = append(out, s.text)
	}
	return out
}

func TestMySQLsTextsAreSplitAsItsClientDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{}},
		{";; ; -- x\n # y;\n /* ; */ ;", []string{}},
		{"SELECT 1; SELECT 2", []string{"SELECT 1", "SELECT 2"}},
		{`SELECT 'a;''b\';c', "d;\"e""f", ` + "`g;``h`" + `; SELECT 2`, []string{`SELECT 'a;''b\';c', "d;\"e""f", ` + "`g;``h`", "SELECT 2"}},
		{"SELECT 1--1; SELECT 2 -- ;\n, 3 # ;\n, 4; x", []string{"SELECT 1--1", "SELECT 2 -- ;\n, 3 # ;\n, 4", "x"}},
		{"SELECT /* ; /* ' */ 1; /*! SELECT ';' */; /*!50000 a*/ b; /*M!100 c */", []string{"SELECT /* ; /* ' */ 1", "/*! SELECT ';' */", "/*!50000 a*/ b", "/*M!100 c */"}},
		{"-- c\nSELECT 1;", []string{"-- c\nSELECT 1"}},
		{"delimiter //\na; b// c\n//\nDELIMITER ;\nd;e", []string{"a; b", "c", "d", "e"}},
		{"DELIMITER $$\nselect 1$$\nselect 2 $$ select $3", []string{"select 1", "select 2", "select $3"}},
		{"  -- x\n  Delimiter  ;;  \r\na;b;;c", []string{"a;b", "c"}},
		{"SELECT a\nDELIMITER //\n; b", []string{"SELECT a\nDELIMITER //", "b"}},
		{"DELIMITERS; a", []string{"DELIMITERS", "a"}},
		{"DELIMITER go\nselect 1 go select 2\ngo", []string{"select 1", "select 2"}},
		{"\ufeffSELECT 1", []string{"SELECT 1"}},
	} {
		require.Equal(t, c.want, texts(t, &mysqlEngine{}, c.text), c.text)
	}
	for text, says := range map[string]string{
		"SELECT 'a":              "a string that does not end begins at byte 7",
		"SELECT 1 \\G":           "a backslash",
		"/* x":                   "a comment that does not end begins at byte 0",
		"/*! x":                  "a comment that is executed",
		"/*! x; */":              "a delimiter within a comment that is executed",
		"a;\nDELIMITER\nb":       "DELIMITER without a delimiter stands at byte 3",
		"DELIMITER a b":          "more than a delimiter",
		"DELIMITER '":            "can't be told from the text",
		"SELECT `a":              "a quoted name that does not end begins",
		"SELECT \x00":            "a NUL character",
		"DELIMITER //\nSELECT '": "a string that does not end begins",
	} {
		_, err := splitMySQL(text)
		require.ErrorContains(t, err, says, text)
	}
}

func TestSQLitesTextsAreSplitAsItsShellDoes(t *testing.T) {
	t.Parallel()
	const trigger = "CREATE TEMP TRIGGER t AFTER INSERT ON x BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; UPDATE x SET \"end\" = ';'; END"
	for _, c := range []struct {
		text string
		want []string
	}{
		{" ; -- x\n;", []string{}},
		{"SELECT 'a;''b', \"c;\"\"d\", [e;f], `g;`; x -- ;", []string{"SELECT 'a;''b', \"c;\"\"d\", [e;f], `g;`", "x"}},
		{trigger + "; SELECT 1", []string{trigger, "SELECT 1"}},
		{trigger, []string{trigger}},
		{"EXPLAIN QUERY PLAN " + trigger + " /* x */ ; b", []string{"EXPLAIN QUERY PLAN " + trigger, "b"}},
		{"BEGIN; SELECT 1; END; c", []string{"BEGIN", "SELECT 1", "END", "c"}},
		{"SELECT 1 # 2; b", []string{"SELECT 1 # 2", "b"}},
	} {
		require.Equal(t, c.want, texts(t, &sqliteEngine{}, c.text), c.text)
	}
}

func natureOf(t testing.TB, e engine, text string) statement {
	t.Helper()
	out, err := e.split("DELIMITER \x01\n" + text)
	if e.kind() == SQLite {
		out, err = e.split(text)
	}
	require.NoError(t, err)
	require.Len(t, out, 1, text)
	return out[0]
}

func TestWhatMySQLMakesOfStatements(t *testing.T) {
	t.Parallel()
	e := &mysqlEngine{named: MySQL}
	for _, text := range []string{
		"CREATE TABLE t (n int)", "create unique index i on t (n)", "DROP TABLE a", "RENAME TABLE a TO b", "ALTER TABLE t ADD COLUMN n int",
		"ALTER TABLE `d`.`t` ADD n int, DROP COLUMN m, ADD UNIQUE KEY k (n)", "ALTER TABLE t ADD CONSTRAINT c FOREIGN KEY (n) REFERENCES u (n)",
		"ALTER TABLE t RENAME COLUMN a TO b", "ALTER TABLE t RENAME TO u", "/*!50001 CREATE VIEW v AS SELECT 1 */", "DROP INDEX i ON t",
		"CREATE DEFINER=`a`@`b` TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET NEW.n = 1", "ALTER TABLE t ADD PRIMARY KEY (n)", "CREATE USER a",
		"ALTER TABLE t CHANGE a b int", "ALTER TABLE t ADD n enum('a,b', 'c')", "ALTER TABLE t CHANGE `a` `b` int UNIQUE, DROP `c`",
		"ALTER TABLE t ADD CONSTRAINT c UNIQUE KEY k (n), DROP INDEX i", "ALTER TABLE t ADD CONSTRAINT c PRIMARY KEY (n), ADD VECTOR INDEX v (m)",
		"ALTER TABLE t DROP FOREIGN KEY f, DROP INDEX f, ADD CONSTRAINT f FOREIGN KEY (n) REFERENCES u (n)", "ALTER TABLE t ADD vector int",
		"ALTER TABLE d.t NOWAIT ADD n int", "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DO 1", "ALTER TABLE t RENAME COLUMN a TO b, ADD n int AFTER b",
	} {
		s := natureOf(t, e, text)
		require.True(t, s.commits, text)
		require.NotEmpty(t, s.tells, text)
		require.False(t, s.harmless, text)
	}
	for _, text := range []string{
		"ALTER TABLE t ADD INDEX (n)", "ALTER TABLE t ADD UNIQUE (n), ADD m int", "ALTER TABLE t ADD FOREIGN KEY (n) REFERENCES u (n)",
		"ALTER TABLE t ADD CONSTRAINT FOREIGN KEY (n) REFERENCES u (n)", "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u", "TRUNCATE t",
		"RENAME TABLE a TO b, b TO a", "INSTALL PLUGIN x SONAME 'y'", "ALTER TABLE t ADD CHECK (n > 0)", "SHUTDOWN",
		"ALTER TABLE t MODIFY n int REFERENCES u (n)", "ALTER TABLE t MODIFY n int CHECK (n > 0)", "ALTER TABLE t CHANGE `a` `A` int UNIQUE",
		"ALTER TABLE t ADD $a int, DROP $a", "ALTER TABLE t CHANGE $a $a int UNIQUE", "ALTER TABLE t RENAME COLUMN a TO b, ADD a int",
		"ALTER TABLE t DROP INDEX i, RENAME INDEX j TO i", "ALTER TABLE t DROP INDEX IF EXISTS i, ADD INDEX IF NOT EXISTS i (n)",
		"ALTER TABLE t DROP INDEX a, ADD INDEX IF NOT EXISTS (a)", "ALTER TABLE t ADD VECTOR (v)", "ALTER TABLE t DROP SYSTEM VERSIONING",
		"ALTER TABLE t ADD (n int, FOREIGN KEY (n) REFERENCES u (n))", "ALTER TABLE t CONVERT PARTITION p TO TABLE u", "ALTER TABLE t REMOVE PARTITIONING",
		"ALTER TABLE t CONVERT TABLE u TO PARTITION p VALUES LESS THAN (5)", "ALTER TABLE t ADD IF NOT EXISTS n int PARTITION BY HASH (n)",
		"ALTER TABLE t ADD n int, AUTO_INCREMENT 5", "ALTER TABLE t REORGANIZE PARTITION p INTO (PARTITION q VALUES LESS THAN (5))", "ALTER TABLE t",
		"CREATE OR REPLACE DATABASE d", "CREATE OR REPLACE USER a", "CREATE OR REPLACE ROLE a", "CREATE OR REPLACE EVENT e ON SCHEDULE EVERY 1 DAY DO DO 1",
		"CREATE EVENT IF NOT EXISTS e ON SCHEDULE AT NOW() DO DO 1", "CREATE EVENT e ON SCHEDULE EVERY 1 DAY ENDS '2030-01-01' DO DO 1",
		"ALTER EVENT e ON SCHEDULE EVERY 1 DAY", "ALTER USER a IDENTIFIED BY 'x' RETAIN CURRENT PASSWORD", "SET PASSWORD TO RANDOM",
		"ALTER TABLE t MODIFY n int" + strings.Repeat(", MODIFY n int", 1000),
	} {
		s := natureOf(t, e, text)
		require.True(t, s.commits, text)
		require.Empty(t, s.tells, text)
		require.False(t, s.harmless, text)
	}
	for _, text := range []string{
		"CREATE TABLE IF NOT EXISTS t (n int)", "DROP TABLE IF EXISTS t", "CREATE OR REPLACE VIEW v AS SELECT 1", "ALTER TABLE t ENGINE = InnoDB, COMMENT 'x'",
		"SET DEFAULT ROLE a", "SET STATEMENT lock_wait_timeout = 5 FOR ALTER TABLE t MODIFY n bigint", "ANALYZE LOCAL TABLE t",
		"OPTIMIZE TABLE t", "GRANT SELECT ON t TO a", "ALTER TABLE t MODIFY n bigint", "ANALYZE TABLE t",
		"ALTER TABLE t DROP FOREIGN KEY f, ADD CONSTRAINT f FOREIGN KEY (n) REFERENCES u (n) ON DELETE CASCADE", "ALTER TABLE t CHANGE n `N` int",
		"ALTER TABLE t DROP CONSTRAINT c, ADD CONSTRAINT `C` UNIQUE (n)", "ALTER TABLE t DROP COLUMN IF EXISTS a, ADD COLUMN IF NOT EXISTS (b int, c int)",
		"ALTER TABLE t WAIT 5 MODIFY n enum('UNIQUE') COMMENT 'PARTITION' AFTER `UNIQUE`", "ALTER EVENT e DISABLE", "CREATE EVENT IF NOT EXISTS e ON SCHEDULE EVERY 1 DAY DO DO 1",
		"CREATE OR REPLACE ALGORITHM = MERGE DEFINER = a@b SQL SECURITY DEFINER VIEW v AS SELECT 1", "CREATE OR REPLACE PROCEDURE p() DO 1", "ALTER USER a IDENTIFIED BY 'x'",
	} {
		s := natureOf(t, e, text)
		require.True(t, s.commits && s.harmless, text)
	}
	for _, text := range []string{
		"SELECT 1", "(SELECT 1)", "INSERT INTO t VALUES (1)", "WITH a AS (SELECT 1) SELECT 1", "CREATE TEMPORARY TABLE t (n int)", "DROP TEMPORARY TABLE t",
		"SAVEPOINT a", "ROLLBACK TO a", "ROLLBACK WORK TO SAVEPOINT a", "SET @a = 1", "CALL p()", "BEGIN NOT ATOMIC SELECT 1; END", "LOAD DATA INFILE 'x' INTO TABLE t",
	} {
		s := natureOf(t, e, text)
		require.False(t, s.commits, text)
		require.Equal(t, controlNone, s.control, text)
		require.Empty(t, s.lacks, text)
	}
	for _, text := range []string{
		"SET STATEMENT x = (SELECT SUBSTRING('a' FROM 1 FOR 1)), y = 2 FOR INSERT INTO t VALUES (1)", "ANALYZE UPDATE t SET n = 1",
		"ANALYZE FORMAT=JSON DELETE FROM t",
	} {
		s := natureOf(t, e, text)
		require.True(t, s.counts && !s.commits && !s.session && !s.harmless, text)
	}
	for text, want := range map[string]bool{
		"SET @a = 1": false, "SET @a = (1 + 2), @b = @a AND (@c)": false, "SET sql_mode = CONCAT(@@sql_mode, 'x')": false, "SET @a = NOW()": true,
		"SET @a = (SELECT 1)": true, "SET @a := `d`.`f`(1)": true, "SET @a = NEXT VALUE FOR s": true, "SET sql_mode = '', @`a` = UTC_DATE": true,
		"SET @@sort_buffer_size = POW(2, 20)": false, "SELECT 1 INTO @a": true, "EXPLAIN FORMAT=JSON INTO @a SELECT 1": true, "EXPLAIN INSERT INTO t SELECT @a": false, "SET @a = @@session.identity": true,
	} {
		require.Equal(t, want, natureOf(t, e, text).keeps == aVariable, text)
	}
	for _, text := range []string{"SET STATEMENT x = 1", "SET STATEMENT x = 1 FOR", "SET STATEMENT x = (1 FOR ALTER TABLE t ADD n int)"} {
		s := natureOf(t, e, text)
		require.True(t, s.commits && s.opaque && !s.session, text)
	}
	for text, want := range map[string]control{
		"BEGIN": controlBegins, "START TRANSACTION READ ONLY": controlBegins, "BEGIN WORK": controlBegins, "COMMIT": controlEnds, "ROLLBACK": controlEnds,
		"COMMIT AND NO CHAIN": controlEnds,
	} {
		require.Equal(t, want, natureOf(t, e, text).control, text)
	}
	for text, says := range map[string]string{
		"LISTEN x": "LISTEN is PostgreSQL's", "PRAGMA x": "SQLite's", "LOAD DATA LOCAL INFILE 'x' INTO TABLE t": "a file of the client",
		"SET autocommit = 0": "autocommit", "SET SESSION autocommit=0": "autocommit", "SET @@autocommit := 0": "autocommit", "SOURCE x": "command of the client",
		"SET STATEMENT max_statement_time = 1 FOR COMMIT": "COMMIT by itself",
		"COMMIT AND CHAIN": "CHAIN", "XA START 'x'": "outlive", "COPY t FROM STDIN": "PostgreSQL's",
		"CREATE PROCEDURE p() BEGIN SELECT 1": "DELIMITER",
	} {
		require.Contains(t, natureOf(t, e, text).lacks, says, text)
	}
}

func TestWhatAKilledSidecarLeftBehindIsEndedWhereItIsUndone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"/* rowrun:7 */ UPDATE t SET n = 'cut off he": true, "/* rowrun:7 */ SELECT 1": true, "/* rowrun:7 */ ALTER TABLE t ADD n int": false,
		"/* rowrun:7 */ CALL p()": false, "/* rowrun:7 */ COMMIT": false, "UPDATE t SET n = 1": false, "": false, "/* rowrun:7 */": false,
		"COMMIT": false,
	} {
		require.Equal(t, want, isUndone(text), text)
	}
}

func TestSQLModeIsTheSplittersOwn(t *testing.T) {
	t.Parallel()
	require.Equal(t, "STRICT_TRANS_TABLES,PIPES_AS_CONCAT", readableMode("STRICT_TRANS_TABLES,ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,ANSI,ORACLE"))
	require.Empty(t, readableMode(""))
}

func TestAddressesOfTargets(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]Engine{
		"postgres://u@h/d": PostgreSQL, "postgresql://u@h/d": PostgreSQL, "host=h dbname=d": PostgreSQL, "": PostgreSQL, "host=/x:y": PostgreSQL,
		"mysql://u@h/d": MySQL, "MariaDB://u@h/d": MariaDB, "sqlite:/x": SQLite, "file:/x": SQLite, "sqlite3:///x": SQLite,
	} {
		got, err := EngineOf("", address)
		require.NoError(t, err)
		require.Equal(t, want, got, address)
	}
	got, err := EngineOf("SQLite", "postgres://u@h/d")
	require.NoError(t, err)
	require.Equal(t, SQLite, got)
	_, err = EngineOf("oracle", "")
	require.ErrorContains(t, err, "accepted: postgresql, mysql, mariadb, sqlite")

	for _, address := range []string{
		"mysql://u:p@h/d", "mysql://u@h:3307/d?ssl-mode=disabled", "mariadb://u:%20%2F@[::1]/d", "mysql://u@/d?socket=/run/x",
	} {
		require.NoError(t, CheckURL(MySQL, address), address)
	}
	for address, says := range map[string]string{
		"mysql://u:hunter2@h": "names no database", "mysql://h/d": "not one that MySQL's driver understands", "mysql://u:hunter2@/d": "names no host",
		"mysql://u:hunter2@h/d?tls=true": `option "tls" is not accepted`, "mysql://u:hunter2@h/d?ssl-mode=x": "ssl-mode",
		"mysql://u:hunter2@h/d?socket=/x": "both a host and a socket", "mysql://u:hunter2/x@h/d": "not one that MySQL's driver understands",
		"mysql://u:hunter2@h/d?ssl-ca=/not/there": "ssl-ca", "mysql://u:hunter2@h/a%60b": "names no database",
		"mysql://u:hunter2@h/d?ssl-mode=required&ssl-mode=disabled": "given twice",
	} {
		err := CheckURL(MySQL, address)
		require.ErrorContains(t, err, says, address)
		require.NotContains(t, err.Error(), "hunter2")
	}
	for _, address := range []string{"sqlite:/a/b.db", "sqlite:///a/b.db", "file:///a/b%20c.db?mode=ro", "sqlite:/a?foreign_keys=on"} {
		require.NoError(t, CheckURL(SQLite, address), address)
	}
	for address, says := range map[string]string{
		"sqlite:b.db": "no absolute path", "sqlite::memory:": "in memory", "sqlite://host/b.db": "names a host", "sqlite:/a?mode=memory": "in memory",
		"sqlite:/a?cache=shared": `option "cache" is not accepted`, "sqlite:/a/": "no absolute path", "sqlite:/a?mode=x": "mode",
	} {
		require.ErrorContains(t, CheckURL(SQLite, address), says, address)
	}
}

// pieces of texts that mean something to a splitter.
var seeds = []string{ //nolint:gochecknoglobals // of both targets
	"SELECT 1; SELECT 'a;b\\'' -- c;\n; # ; \n /* ; /* ; */ `;`",
	"DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1; END//\nDELIMITER ;\nCALL p();",
	"/*!50003 CREATE*/ /*!50017 DEFINER=`r`@`l`*/ /*!50003 TRIGGER t BEFORE INSERT ON x FOR EACH ROW BEGIN END */;;\ndelimiter ;",
	"CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; END; SELECT [;]",
	"delimiter \xff\n\xff;\x01", "/*!/*! */*/ ;", "SET STATEMENT a = (1) FOR ANALYZE FORMAT = JSON SELECT @@identity; SET @a = `f`(1)",
}

func FuzzSplitMySQL(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { splitsWell(t, &mysqlEngine{named: MySQL}, text) })
}

func FuzzSplitSQLite(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { splitsWell(t, &sqliteEngine{}, text) })
}

func splitsWell(t *testing.T, e engine, text string) {
	t.Helper()
	statements, err := e.split(text)
	if err != nil {
		var bad *textError
		require.ErrorAs(t, err, &bad)
		require.GreaterOrEqual(t, bad.offset, 0)
		require.Less(t, bad.offset, len(text))
		return
	}
	end := 0
	for i := range statements {
		s := &statements[i]
		require.GreaterOrEqual(t, s.offset, end)
		end = s.offset + len(s.text)
		require.Equal(t, s.text, text[s.offset:end])
		require.NotEmpty(t, strings.TrimSpace(s.text))
		require.NotEmpty(t, s.tokens)
		require.Equal(t, placeOf(text, s.offset+s.head), s.place)
		for tok, err := range e.tokens(s.text) {
			require.NoError(t, err, "a statement can be read by itself")
			require.LessOrEqual(t, tok.end, len(s.text))
		}
		_, _ = s.shown(e, 100), s.command()
		require.Equal(t, hashOf(statements, i+1), hashOf(statements[:i+1], i+1))
	}
}
