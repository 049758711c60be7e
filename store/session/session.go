// Package session holds what every database session of Rowrun's has in common, whatever the server, its databases and
// its roles say by default:
//
//   - Text travels as UTF-8. A database or role may have another client_encoding as its default; the server then
//     refuses, or worse replaces, what that can't express.
//   - Names are looked up in pg_catalog only. Whoever may create objects in a schema of the default search_path ("public"
//     where that is granted, a schema that is named like the role) could otherwise plant a function or an operator that
//     fits a statement better than the built-in one, and have it run with the rights of the session. All tables and
//     functions of Rowrun's are named with their schema.
//   - A transaction is READ COMMITTED unless it asks for more. Its gates are judged under a lock: what was committed before the
//     lock was had must be seen, and a snapshot of the transaction's first statement would be older.
//
// It imports nothing of ours, so that every package that connects may use it.
package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SearchPath is that of every session of ours. pg_temp is named because it would otherwise come first.
const SearchPath = "pg_catalog, pg_temp"

// SetUp are the statements that pin a session; setPathLocally pins the path of a transaction.
const (
	SetUp          = "SET search_path = " + SearchPath + ";\nSET default_transaction_isolation = 'read committed'"
	setPathLocally = "SET LOCAL search_path = " + SearchPath
)

// Encode asks for UTF-8 on the connections of config. Poolers pass it on: client_encoding is one of the settings that
// they track. A database in SQL_ASCII converts nothing: with another client_encoding it would only refuse to hand out
// rows that hold other bytes, and the rows beside them. There bytes come as they are, to be judged where they are used.
func Encode(config *pgx.ConnConfig) { prepare(config, "") }

// Pin is Encode, and sets each connection up before anybody else uses it. The way must lead to the server itself or through
// a pooler in session mode. Statements, more of which may follow, and no start-up parameters: poolers refuse those that they
// don't know, or drop them.
func Pin(config *pgx.ConnConfig, more ...string) {
	prepare(config, strings.Join(append([]string{SetUp}, more...), "; "))
}

func prepare(config *pgx.ConnConfig, settings string) {
	if config.RuntimeParams == nil {
		config.RuntimeParams = map[string]string{}
	}
	config.RuntimeParams["client_encoding"] = "UTF8"
	before := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		all := settings
		if conn.ParameterStatus("server_encoding") == "SQL_ASCII" {
			all = "SET client_encoding = 'SQL_ASCII'; " + all
		}
		if all != "" {
			if _, err := conn.Exec(ctx, all).ReadAll(); err != nil {
				return fmt.Errorf("set up the session: %w", err)
			}
		}
		if before == nil {
			return nil
		}
		return before(ctx, conn)
	}
}

// Begin is the statement that begins a transaction of these options with the search path and the isolation pinned in it: for
// connections behind a pooler in transaction mode, where no setting of a session can be relied on.
func Begin(options pgx.TxOptions) string {
	level := options.IsoLevel
	if level == "" {
		level = pgx.ReadCommitted
	}
	begin := "BEGIN ISOLATION LEVEL " + string(level)
	if options.AccessMode != "" {
		begin += " " + string(options.AccessMode)
	}
	return begin + "; " + setPathLocally
}
