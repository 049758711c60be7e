package client_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/client"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world is a database with two tasks, and a program in it that may no more than rowrun_client.
type world struct {
	*testing.T
	url     string
	owner   *pgx.Conn
	program *pgx.ConnConfig
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, url: storetest.New(t)}
	config, err := pgx.ParseConfig(w.url)
	require.NoError(t, err)
	w.owner = w.connect(config)
	role := "program_" + config.Database
	w.exec(`CREATE ROLE ` + pgx.Identifier{role}.Sanitize() + ` LOGIN IN ROLE rowrun_client`)
	t.Cleanup(func() { w.exec(`DROP ROLE ` + pgx.Identifier{role}.Sanitize()) })
	w.exec(`SELECT rowrun.define_task('mail', 'MAIL', '{"from": "us"}'), rowrun.define_task('print', 'PRINT', priority => 3)`)
	w.program = config.Copy()
	w.program.User = role
	return w
}

func (w *world) connect(config *pgx.ConnConfig) *pgx.Conn {
	w.Helper()
	conn, err := pgx.ConnectConfig(w.Context(), config)
	require.NoError(w, err)
	w.Cleanup(func() { _ = conn.Close(context.WithoutCancel(w.Context())) })
	return conn
}

func (w *world) pool() *pgxpool.Pool {
	w.Helper()
	config, err := pgxpool.ParseConfig(w.url)
	require.NoError(w, err)
	config.ConnConfig.User = w.program.User
	pool, err := pgxpool.NewWithConfig(w.Context(), config)
	require.NoError(w, err)
	w.Cleanup(pool.Close)
	return pool
}

func (w *world) sql() *sql.DB {
	w.Helper()
	db := stdlib.OpenDB(*w.program)
	w.Cleanup(func() { _ = db.Close() })
	return db
}

func (w *world) exec(statement string, args ...any) {
	w.Helper()
	_, err := w.owner.Exec(context.WithoutCancel(w.Context()), statement, args...)
	require.NoError(w, err, statement)
}

// ask is the one value of a question, as text.
func (w *world) ask(question string, args ...any) string {
	w.Helper()
	var answer any
	require.NoError(w, w.owner.QueryRow(w.Context(), question, args...).Scan(&answer), question)
	return fmt.Sprint(answer)
}

// way is a connection of either kind, with what the package does by it.
type way struct {
	enqueue func(job client.Job) (int64, error)
	many    func(jobs ...client.Job) ([]int64, error)
}

func byPgx[R client.Rows](w *world, db client.Pgx[R]) way {
	return way{
		func(job client.Job) (int64, error) { return client.Enqueue(w.Context(), db, job) },
		func(jobs ...client.Job) ([]int64, error) { return client.EnqueueMany(w.Context(), db, jobs) },
	}
}

func bySQL(w *world, db client.SQL) way {
	return way{
		func(job client.Job) (int64, error) { return client.EnqueueSQL(w.Context(), db, job) },
		func(jobs ...client.Job) ([]int64, error) { return client.EnqueueManySQL(w.Context(), db, jobs) },
	}
}

// ways are all that the package may be given.
func (w *world) ways() map[string]way {
	w.Helper()
	ways := map[string]way{"pool": byPgx(w, w.pool()), "sql.DB": bySQL(w, w.sql())}
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol,
	} {
		config := w.program.Copy()
		config.DefaultQueryExecMode = mode
		ways["conn, "+mode.String()] = byPgx(w, w.connect(config))
	}
	tx, err := w.connect(w.program).Begin(w.Context())
	require.NoError(w, err)
	w.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(w.Context())) })
	ways["pgx.Tx"] = byPgx(w, tx)
	conn, err := w.sql().Conn(w.Context())
	require.NoError(w, err)
	w.Cleanup(func() { _ = conn.Close() })
	ways["sql.Conn"] = bySQL(w, conn)
	begun, err := w.sql().BeginTx(w.Context(), nil)
	require.NoError(w, err)
	w.Cleanup(func() { _ = begun.Rollback() })
	ways["sql.Tx"] = bySQL(w, begun)
	return ways
}
