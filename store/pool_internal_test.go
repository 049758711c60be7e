package store

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/session"
	"github.com/rowrun/rowrun/store/storetest"
)

// Behind a pooler each statement sees the pinned path, in whichever way it is sent, and leaves the session as it was.
func TestStatementsBehindAPoolerSetTheirPath(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{URL: storetest.New(t), Pooled: true, MaxConns: 1})
	require.NoError(t, err)
	defer s.Close()
	ctx, p := t.Context(), s.pool
	const path = "SELECT pg_catalog.current_setting('search_path')"
	outside := func() {
		var got string
		require.NoError(t, s.Pool().QueryRow(ctx, path).Scan(&got))
		require.Equal(t, `"$user", public`, got)
	}
	var got string
	require.NoError(t, p.QueryRow(ctx, path).Scan(&got))
	require.Equal(t, session.SearchPath, got)
	outside()

	rows, err := p.Query(ctx, path+" FROM pg_catalog.generate_series(1, 3)")
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{session.SearchPath, session.SearchPath, session.SearchPath}, all)
	outside()

	b := &pgx.Batch{}
	b.Queue(path).QueryRow(func(row pgx.Row) error { return row.Scan(&got) })
	b.Queue("UPDATE rowrun.deployment SET id = id")
	got = ""
	require.NoError(t, p.SendBatch(ctx, b).Close())
	require.Equal(t, session.SearchPath, got)
	outside()

	got = ""
	require.NoError(t, s.inTx(ctx, func(tx pgx.Tx) error { return tx.QueryRow(ctx, path).Scan(&got) }))
	require.Equal(t, session.SearchPath, got)
	require.NoError(t, pgx.BeginTxFunc(ctx, p, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var level, only string
		err := tx.QueryRow(ctx, "SELECT pg_catalog.current_setting('transaction_isolation'), pg_catalog.current_setting('transaction_read_only')").Scan(&level, &only)
		require.Equal(t, "repeatable read on", level+" "+only)
		return err
	}))

	// It is committed, or not where it failed, and the connection is free again.
	tag, err := p.Exec(ctx, "INSERT INTO rowrun.task (type, name) VALUES ('NOOP', 'kept')")
	require.NoError(t, err)
	require.Equal(t, int64(1), tag.RowsAffected())
	_, err = p.Exec(ctx, "SELECT 1 / 0")
	require.Equal(t, "22012", SQLState(err))
	require.ErrorIs(t, p.QueryRow(ctx, "SELECT 1 WHERE false").Scan(&got), pgx.ErrNoRows)
	require.Equal(t, "22012", SQLState(p.QueryRow(ctx, "SELECT 1 / 0").Scan(new(int))))
	b = &pgx.Batch{}
	b.Queue("INSERT INTO rowrun.task (type, name) VALUES ('NOOP', 'lost')")
	b.Queue("SELECT 1 / 0")
	require.Equal(t, "22012", SQLState(p.SendBatch(ctx, b).Close()))
	rows, err = p.Query(ctx, "SELECT name FROM rowrun.task")
	require.NoError(t, err)
	all, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"kept"}, all)
	rows, err = p.Query(ctx, "SELECT 1 / n FROM pg_catalog.generate_series(0, 1) n")
	if err == nil {
		_, err = pgx.CollectRows(rows, pgx.RowTo[int])
	}
	require.Equal(t, "22012", SQLState(err))
	require.Zero(t, p.Stat().AcquiredConns())
	require.Error(t, errors.Join(failedBatch{err: err}.Close()))
}

func TestSessionsAreInUTF8AndPinned(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	for _, pooled := range []bool{false, true} {
		s, err := Open(t.Context(), Config{URL: url + "&client_encoding=LATIN1&search_path=public", Pooled: pooled})
		require.NoError(t, err)
		var encoding, path string
		require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT pg_catalog.current_setting('client_encoding'), pg_catalog.current_setting('search_path')").Scan(&encoding, &path))
		require.Equal(t, "UTF8", encoding)
		require.Equal(t, session.SearchPath, path)
		s.Close()
	}
}

// A server takes settings of at most 2^31-1 ms: a third of a lease of a quarter is more.
func TestALeaseOfAnyLengthHasALimitThatTheServerTakes(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	for lease, want := range map[time.Duration]string{
		time.Minute: "18000 18000 18000", 90 * 24 * time.Hour: "2147483647 2147483647 2147483647", math.MaxInt64: "2147483647 2147483647 2147483647",
	} {
		s, err := Open(t.Context(), Config{URL: url, Lease: lease})
		require.NoError(t, err)
		var limits string
		require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT string_agg(reset_val, ' ') FROM pg_settings
			WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'tcp_user_timeout')`).Scan(&limits))
		require.Equal(t, want, limits, "%s", lease)
		s.Close()
	}
}
