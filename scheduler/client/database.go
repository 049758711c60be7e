package client

import (
	"context"
	"database/sql"
)

// Pgx is what pgx.Tx, *pgx.Conn, *pgxpool.Pool and *pgxpool.Conn have, of any version of pgx that has pgx.Rows. Go infers R.
type Pgx[R Rows] interface {
	Query(ctx context.Context, sql string, args ...any) (R, error)
}

// Rows is what pgx.Rows has.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// SQL is what *sql.Tx, *sql.DB and *sql.Conn have, with any driver for PostgreSQL.
type SQL interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// query executes a statement and hands over each of its rows.
type query func(ctx context.Context, statement string, each func(scan func(dest ...any) error) error, args ...any) error

func byPgx[R Rows](db Pgx[R]) query {
	return func(ctx context.Context, statement string, each func(scan func(dest ...any) error) error, args ...any) error {
		rows, err := db.Query(ctx, statement, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := each(rows.Scan); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

func bySQL(db SQL) query {
	return func(ctx context.Context, statement string, each func(scan func(dest ...any) error) error, args ...any) error {
		rows, err := db.QueryContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			if err := each(rows.Scan); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}
