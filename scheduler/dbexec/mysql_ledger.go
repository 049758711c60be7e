package dbexec

import (
	"context"
	"fmt"
	"strings"
)

// ledger stands in the database that the URL names; a text may USE another one.
func (e *mysqlEngine) ledger(*target) *ledgerText {
	name := "`" + e.config.DBName + "`." + ledgerName
	schema := "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(e.config.DBName) + "'"
	l := ledgerOf(name, "UTC_TIMESTAMP(6)", " FOR UPDATE")
	where := " FROM information_schema.TABLES WHERE TABLE_SCHEMA = " + schema + " AND TABLE_NAME = '" + ledgerName + "'"
	l.exists = "SELECT TABLE_TYPE" + where
	// IF NOT EXISTS: two at once may make it.
	l.create = []string{`CREATE TABLE IF NOT EXISTS ` + name + ` (
    deployment     char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    task_id        bigint NOT NULL,
    version        varchar(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    sha256         char(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    status         varchar(7) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    run_id         bigint NOT NULL,
    applied        int NOT NULL,
    applied_sha256 varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    begun          int NULL,
    started_at     datetime(6) NOT NULL,
    finished_at    datetime(6) NULL,
    PRIMARY KEY (deployment, task_id, version)
) ENGINE = InnoDB COMMENT = 'Which versions of which DATABASE_MIGRATE tasks of Rowrun this database has'`}
	// A view could execute a function with this login's rights; a table that knows no transactions would say DONE too early. What a
	// trigger does has its definer's rights, and may still change the row.
	l.doubt = `SELECT CASE WHEN TABLE_TYPE <> 'BASE TABLE' THEN 'it is no table'
            WHEN ENGINE <> 'InnoDB' THEN 'its storage engine is not InnoDB'
            WHEN EXISTS (SELECT 1 FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = ` + schema + ` AND EVENT_OBJECT_TABLE = '` + ledgerName + `')
            THEN 'it has a trigger' ELSE '' END` + where
	return l
}

// look says what doctor wants to know.
func (e *mysqlEngine) look(ctx context.Context, s *session) (Facts, error) {
	rows, err := s.query(ctx, `SELECT VERSION() AS version, CURRENT_USER() AS login, @@GLOBAL.read_only AS read_only`)
	if err != nil {
		return Facts{}, err
	}
	f := Facts{Version: rows[0]["version"], Login: rows[0]["login"]}
	found := MySQL
	if strings.Contains(strings.ToLower(f.Version), "mariadb") {
		found = MariaDB
	}
	f.Engine = found
	if found != e.named {
		f.Notes = append(f.Notes, fmt.Sprintf("its url says %s", e.named))
	}
	major, minor := 0, 0
	_, _ = fmt.Sscanf(f.Version, "%d.%d", &major, &minor)
	switch {
	case found == MySQL && major < 8:
		f.Doubts = append(f.Doubts, "MySQL before 8.0 may apply DDL in part when it crashes")
	case found == MariaDB && (major < 10 || major == 10 && minor < 6):
		f.Doubts = append(f.Doubts, "MariaDB before 10.6 may apply DDL in part when it crashes")
	}
	if on := rows[0]["read_only"]; on != "0" && !strings.EqualFold(on, "OFF") {
		f.Doubts = append(f.Doubts, "the server is read only: a replica?")
	}
	rows, err = s.query(ctx, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")
	if err == nil && e.config.Net == "tcp" && (len(rows) == 0 || rows[0]["Value"] == "") {
		f.Notes = append(f.Notes, "the connection is not encrypted")
	}
	return f, nil
}
