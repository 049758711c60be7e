package store

import "github.com/jackc/pgx/v5"

// Silent is for tests: whether nothing came on an idle connection.
func Silent(conn *pgx.Conn) bool { return silent(conn.PgConn().Conn()) }
