package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// refusingServer answers every login with the next of these SQLSTATEs, and the
// last one again and again. It returns its URL.
func refusingServer(t *testing.T, address string, codes ...string) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			code := codes[0]
			if len(codes) > 1 {
				codes = codes[1:]
			}
			refuse(conn, code)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		served.Wait()
	})
	return "postgres://someone:hunter2@" + listener.Addr().String() + "/app?sslmode=disable"
}

func refuse(conn net.Conn, code string) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	backend := pgproto3.NewBackend(conn, conn)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return
	}
	backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: "refused with " + code})
	_ = backend.Flush()
}

func TestWaitingIsSaidOncePerCauseAndEndsWithWhatNoTimeMends(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	url := refusingServer(t, "127.0.0.1:0", "57P03", "57P03", "57P03", "53300", "53300", "28P01")
	err := waitForDatabase(t.Context(), url, "--database-url", 0, zerolog.New(&log))
	require.ErrorContains(t, err, "(--database-url): wrong user or password: refused with 28P01 (SQLSTATE 28P01)")
	require.ErrorContains(t, err, "/app")
	require.NotContains(t, err.Error()+log.String(), "hunter2")
	require.Equal(t, 2, strings.Count(log.String(), "waiting for it"), log.String())
	require.Contains(t, log.String(), "57P03")
	require.Contains(t, log.String(), "53300")
}

func TestDatabaseThatIsNotUpYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close()) // nobody is there now

	said := make(chan string, 16)
	done := make(chan error, 1)
	go func() {
		done <- waitForDatabase(t.Context(), "postgres://u@"+address+"/app?sslmode=disable", "DATABASE_URL", 0, zerolog.New(lines(said)))
	}()
	require.Contains(t, <-said, "connection refused")
	refusingServer(t, address, "3D000")
	require.ErrorContains(t, <-done, "no such database")
}

// lines hands over what is logged, line by line.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func TestPatienceAndContextEndTheWaiting(t *testing.T) {
	t.Parallel()
	url := refusingServer(t, "127.0.0.1:0", "57P03")
	err := waitForDatabase(t.Context(), url, "PGHOST", time.Millisecond, zerolog.Nop())
	require.ErrorContains(t, err, "gave up after 1ms")

	ctx, cancel := context.WithCancel(t.Context())
	said := make(chan string, 16)
	done := make(chan error, 1)
	go func() { done <- waitForDatabase(ctx, url, "PGHOST", 0, zerolog.New(lines(said))) }()
	<-said
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestStandbyIsRefused(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	url := cluster.SocketURL("postgres")
	require.NoError(t, waitForDatabase(t.Context(), url, "DATABASE_URL", 0, zerolog.Nop()))

	require.NoError(t, cluster.Halt(t.Context()))
	signals, err := filepath.Glob(filepath.Join(cluster.Dir(), "*", "PG_VERSION"))
	require.NoError(t, err)
	require.Len(t, signals, 1)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(signals[0]), "standby.signal"), nil, 0o644))
	require.NoError(t, cluster.Restart(t.Context()))
	err = waitForDatabase(t.Context(), url, "DATABASE_URL", 0, zerolog.Nop())
	require.ErrorContains(t, err, "is a standby, and Rowrun writes")
}
