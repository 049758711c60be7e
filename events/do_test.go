package events_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestDoRunsOnTheListeningConnectionBetweenNotifications(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	// Nothing but the call itself ends the wait for a notification.
	h := listen(t, connConfig(t, url), func(c *events.ListenConfig) { c.PingInterval = time.Hour })
	conn := session(t, url)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var pid, again uint32
	for _, p := range []*uint32{&pid, &again} {
		require.NoError(t, h.Do(ctx, func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, "select pg_backend_pid() where exists (select from pg_listening_channels() c where c = $1)", channel).Scan(p)
		}))
	}
	require.NotZero(t, pid)
	require.Equal(t, pid, again)

	// What arrives while a function runs is heard after it.
	boom := errors.New("boom")
	require.ErrorIs(t, h.Do(ctx, func(ctx context.Context, c *pgx.Conn) error {
		notify(t, conn, "[]")
		if _, err := c.Exec(ctx, "select 1"); err != nil {
			return err
		}
		return boom
	}), boom)
	require.Equal(t, events.Batch{Look: true}, h.next(t))
	require.Zero(t, h.Stats())
}

func TestManyCallsOfDoAtOnceAreAllServed(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	h := listen(t, connConfig(t, url), nil)
	conn := session(t, url)
	const n = 50
	errs := make(chan error, n)
	served := 0 // only ever touched on the connection's goroutine
	for range n {
		go func() {
			errs <- h.Do(context.Background(), func(ctx context.Context, c *pgx.Conn) error {
				served++
				_, err := c.Exec(ctx, "select 1")
				return err
			})
		}()
		notify(t, conn, "[]")
	}
	for range n {
		require.NoError(t, <-errs)
	}
	require.Equal(t, n, served)
	require.Zero(t, h.Stats())
}

func TestDoWithoutAConnectionSaysSo(t *testing.T) {
	t.Parallel()
	h := listen(t, connConfig(t, storetest.Empty(t)), nil)
	h.stop()
	require.ErrorIs(t, h.Do(t.Context(), func(context.Context, *pgx.Conn) error {
		t.Error("called without a connection")
		return nil
	}), events.ErrNotConnected)
}

// queued is a context that says when Do begins to wait for it: the call is in
// the queue by then.
type queued struct {
	context.Context
	waits func()
}

func (q queued) Done() <-chan struct{} { q.waits(); return q.Context.Done() }

func TestCallsInTheQueueOfALostConnectionAreToldSo(t *testing.T) {
	t.Parallel()
	h := listen(t, connConfig(t, storetest.Empty(t)), nil)
	inQueue, second := make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, h.Do(t.Context(), func(fnCtx context.Context, conn *pgx.Conn) error {
		go func() {
			second <- h.Do(queued{ctx, sync.OnceFunc(func() { close(inQueue) })}, func(context.Context, *pgx.Conn) error {
				t.Error("called on a lost connection")
				return nil
			})
		}()
		select {
		case <-inQueue:
			return conn.Close(fnCtx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}))
	require.ErrorIs(t, <-second, events.ErrNotConnected)
}

func TestDoEndsWithItsContext(t *testing.T) {
	t.Parallel()
	h := listen(t, connConfig(t, storetest.Empty(t)), nil)
	blocked, release, first := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		first <- h.Do(context.Background(), func(context.Context, *pgx.Conn) error {
			close(blocked)
			<-release
			return nil
		})
	}()
	wait(t, "the first call", blocked)

	// Still waiting: it is never called.
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error)
	go func() {
		second <- h.Do(ctx, func(context.Context, *pgx.Conn) error {
			t.Error("called after its context ended")
			return nil
		})
	}()
	cancel()
	require.ErrorIs(t, <-second, context.Canceled)
	close(release)
	require.NoError(t, <-first)

	// The listener goes on.
	require.NoError(t, h.Do(t.Context(), func(ctx context.Context, conn *pgx.Conn) error { return conn.Ping(ctx) }))
	require.Zero(t, h.Stats())
}

func TestAStatementThatIsCutOffCostsTheConnection(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	h := listen(t, connConfig(t, url), func(c *events.ListenConfig) { c.PingTimeout = 500 * time.Millisecond })
	conn := session(t, url)
	sleep := func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "select pg_sleep(60)")
		return err
	}

	require.Error(t, h.Do(t.Context(), sleep), "no function has longer than a ping")
	require.Equal(t, "connection lost: no answer in time", h.nextGap(t).Gap)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- h.Do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "/* second */ select pg_sleep(60)")
			return err
		})
	}()
	require.Eventually(t, func() bool {
		var active bool
		return conn.QueryRow(t.Context(), `select exists (select from pg_stat_activity
			where datname = current_database() and state = 'active' and query like '/* second%')`).Scan(&active) == nil && active
	}, patience, time.Millisecond)
	cancel()
	require.Error(t, <-ended)
	// On a machine that is slow enough the timeout came first.
	require.Contains(t, []string{"connection lost: a function was cut off", "connection lost: no answer in time"}, h.nextGap(t).Gap)
	require.EqualValues(t, 2, h.Stats().Reconnects)
}

func TestAFunctionThatLeavesATransactionOpenCostsTheConnection(t *testing.T) {
	t.Parallel()
	h := listen(t, connConfig(t, storetest.Empty(t)), nil)
	require.NoError(t, h.Do(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "begin")
		return err
	}))
	require.Equal(t, "connection lost: misused by a function", h.nextGap(t).Gap)
	require.NoError(t, h.Do(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
		return conn.Close(ctx)
	}))
	require.Equal(t, "connection lost: misused by a function", h.nextGap(t).Gap)
	require.EqualValues(t, 2, h.Stats().Reconnects)
}
