package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		require.NoError(t, conn.Close(ctx))
	})
	return conn
}

func exec(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// query reads one value.
func query[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var value T
	require.NoError(t, conn.QueryRow(t.Context(), sql, args...).Scan(&value), sql)
	return value
}

// addReplica registers a live replica that runs NOOP and HTTP.
func addReplica(t *testing.T, conn *pgx.Conn, id string) {
	t.Helper()
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, concurrency)
		VALUES ($1, clock_timestamp(), '1 hour', '{NOOP,HTTP}', 100)`, id)
}
