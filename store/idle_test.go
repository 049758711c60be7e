package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// An idle connection that the server has ended is found out before it is used, and not by asking the server.
func TestAnIdleConnectionIsAskedWhereTheServerHasEndedIt(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s, by := open(t, url, time.Minute), connect(t, url)
	conn, err := s.Pool().Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	require.True(t, store.Silent(conn.Conn()), "it answers, and has nothing to say")

	exec(t, by, `SELECT pg_terminate_backend($1)`, int(conn.Conn().PgConn().PID()))
	require.Eventually(t, func() bool { return !store.Silent(conn.Conn()) }, 10*time.Second, time.Millisecond)
	require.Error(t, conn.Conn().Ping(t.Context()))
	require.False(t, store.Silent(conn.Conn()), "nor is one that is closed")
}

// A connection that somebody still reads from, as pgx does behind a slow write, is looked at all the same.
func TestAnIdleConnectionIsLookedAtBesideAReader(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, by := connect(t, url), connect(t, url)
	socket := conn.PgConn().Conn()
	read := make(chan error, 1)
	go func() {
		_, err := socket.Read(make([]byte, 1))
		read <- err
	}()
	silent := make(chan bool, 1)
	time.AfterFunc(100*time.Millisecond, func() { silent <- store.Silent(conn) })
	select {
	case is := <-silent:
		require.True(t, is)
	case err := <-read:
		require.Fail(t, "nobody reads: nothing is tested", "%v", err)
	case <-time.After(30 * time.Second):
		require.Fail(t, "it waits for the reader")
	}
	exec(t, by, `SELECT pg_terminate_backend($1)`, int(conn.PgConn().PID()))
	require.NoError(t, <-read) // the first byte of what the server says
	require.False(t, store.Silent(conn))
}

// Statements go on after the server has ended every idle connection.
func TestTheNextStatementAfterIdleConnectionsWereEndedWorks(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s, by := open(t, url, time.Minute), connect(t, url)
	addReplica(t, by, "r")
	_, err := s.Survey(t.Context(), "r", noop(), store.SurveyAll)
	require.NoError(t, err)
	idle := time.Now()
	exec(t, by, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	require.Eventually(t, func() bool { return time.Since(idle) > 1200*time.Millisecond }, 10*time.Second, 10*time.Millisecond)
	_, err = s.Survey(t.Context(), "r", noop(), store.SurveyAll)
	require.NoError(t, err)
}
