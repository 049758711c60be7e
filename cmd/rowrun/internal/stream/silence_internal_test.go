package stream

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// All of the replica's connections are busy when it sees an INSERT: it tells the others once there is one.
func TestWhatWasSeenIsPassedOnInTheEnd(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	connect := func() *pgx.Conn {
		conn, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	listener, locker := connect(), connect()
	_, err := listener.Exec(t.Context(), "LISTEN rowrun_task_run")
	require.NoError(t, err)
	heard := func(within time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		n, _ := listener.WaitForNotification(ctx)
		return n != nil
	}

	const conns = 2
	s, err := store.Open(t.Context(), store.Config{URL: url, MaxConns: conns})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	lock, err := locker.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), "LOCK TABLE rowrun.task IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range conns {
		wg.Go(func() { _, _ = s.TaskLabels(ctx, []int64{1}) })
	}
	const waiting = `SELECT count(*) FROM pg_locks WHERE relation = 'rowrun.task'::regclass AND NOT granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	for n := 0; n < conns; {
		require.NoError(t, lock.QueryRow(t.Context(), waiting).Scan(&n))
	}

	q := &silence{store: s, hub: events.NewHub(), inserted: make(chan struct{}, 1)}
	q.on.Store(true)
	wg.Go(func() { q.relay(ctx) })
	q.seen()
	require.False(t, heard(time.Second), "there is no connection to tell it by")
	require.NoError(t, lock.Rollback(t.Context()))
	require.True(t, heard(10*time.Second))
}
