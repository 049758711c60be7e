package integration_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// database is what a user with psql has.
type database struct {
	url  string
	pool *pgxpool.Pool
}

// newDatabase makes one on the shared server.
func newDatabase(t *testing.T) *database {
	t.Helper()
	return openDatabase(t, storetest.New(t))
}

func openDatabase(t *testing.T, url string) *database {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.MaxConns = 8
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return &database{url: url, pool: pool}
}

// exec runs a statement; affected is how many rows it touched.
func (d *database) exec(t *testing.T, sql string, args ...any) (affected int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tag, err := d.pool.Exec(ctx, sql, args...)
	require.NoError(t, err, sql)
	return tag.RowsAffected()
}

// ask returns the one value of the one row that a statement returns.
func ask[T any](t *testing.T, d *database, sql string, args ...any) T {
	t.Helper()
	all := list[T](t, d, sql, args...)
	require.Len(t, all, 1, sql)
	return all[0]
}

// list returns the one value of each row.
func list[T any](t *testing.T, d *database, sql string, args ...any) []T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	rows, err := d.pool.Query(ctx, sql, args...)
	require.NoError(t, err, sql)
	all, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(t, err, sql)
	return all
}

// now is the database's clock.
func (d *database) now(t *testing.T) time.Time {
	t.Helper()
	return ask[time.Time](t, d, "SELECT clock_timestamp()")
}

type columns map[string]any

// task inserts a task.
func (d *database) task(t *testing.T, kind, payload string, more columns) int64 {
	t.Helper()
	all := columns{"type": kind, "payload": payload}
	maps.Copy(all, more)
	var names, places []string
	var args []any
	for _, name := range slices.Sorted(maps.Keys(all)) {
		args = append(args, all[name])
		names, places = append(names, name), append(places, "$"+strconv.Itoa(len(args)))
	}
	return ask[int64](t, d, "INSERT INTO rowrun.task ("+strings.Join(names, ", ")+") VALUES ("+
		strings.Join(places, ", ")+") RETURNING id", args...)
}

// run inserts a run of a task.
func (d *database) run(t *testing.T, task int64) int64 {
	t.Helper()
	return ask[int64](t, d, "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", task)
}

// job inserts a task and one run of it.
func (d *database) job(t *testing.T, kind, payload string, more columns) int64 {
	t.Helper()
	return d.run(t, d.task(t, kind, payload, more))
}

// run is a row of task_run.
type run struct {
	ID         int64
	Status     string
	Attempt    int
	ReplicaID  *string
	Code       string
	Detail     string
	RetryOf    *int64
	RetryRunID *int64
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
}

func (d *database) look(t *testing.T, id int64) run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	rows, err := d.pool.Query(ctx, `SELECT id, status, attempt, replica_id, coalesce(result ->> 'code', '') AS code,
		coalesce(result ->> 'detail', '') AS detail, retry_of,
		(SELECT s.id FROM rowrun.task_run s WHERE s.retry_of = r.id) AS retry_run_id, created_at, started_at, finished_at
		FROM rowrun.task_run r WHERE id = $1`, id)
	require.NoError(t, err)
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[run])
	require.NoError(t, err)
	return row
}

// await waits until a run has a status, and fails at once where it has ended with another.
func (d *database) await(t *testing.T, id int64, status string) run {
	t.Helper()
	var r run
	eventually(t, patience, "run "+strconv.FormatInt(id, 10)+" "+status, func() bool {
		r = d.look(t, id)
		ended := r.Status == "DONE" || r.Status == "FAILED" || r.Status == "CANCELED"
		require.False(t, ended && r.Status != status, "run %d ended %s, not %s: %s: %s", id, r.Status, status, r.Code, r.Detail)
		return r.Status == status
	})
	return r
}

// refused proves that a statement fails, with which SQLSTATE.
func (d *database) refused(t *testing.T, state, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := d.pool.Exec(ctx, sql, args...)
	require.Equal(t, state, sqlState(err), "%s: %v", sql, err)
}

// sqlState is that of the server's error, "" for none and for any other.
func sqlState(err error) string {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return server.Code
	}
	return ""
}
