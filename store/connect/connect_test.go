package connect

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

func TestWaitingIsSaidOncePerCauseAndEndsWithWhatNoTimeMends(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	url := storetest.RefusingServer(t, "127.0.0.1:0", "57P03", "57P03", "57P03", "53300", "53300", "28P01")
	err := Wait(t.Context(), url, "--database-url", 0, zerolog.New(&log))
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
		done <- Wait(t.Context(), "postgres://u@"+address+"/app?sslmode=disable", "DATABASE_URL", 0, zerolog.New(storetest.Lines(said)))
	}()
	require.Contains(t, <-said, "connection refused")
	storetest.RefusingServer(t, address, "3D000")
	require.ErrorContains(t, <-done, "no such database")
}

// The last try has only what is left of the patience: that it was cut short says nothing, what the ones before it met does.
func TestWhoGivesUpSaysWhatItMetAndNotThatTimeWasUp(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())

	said := make(chan string, 16)
	done := make(chan error, 1)
	go func() {
		done <- Wait(t.Context(), "postgres://u@"+address+"/app?sslmode=disable", "DATABASE_URL", 3*time.Second, zerolog.New(storetest.Lines(said)))
	}()
	require.Contains(t, <-said, "connection refused")
	silent, err := config.Listen(t.Context(), "tcp", address) // the kernel takes the connection, and nobody answers
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	require.ErrorContains(t, <-done, "gave up after 3s: connection refused")
}

func TestPatienceAndContextEndTheWaiting(t *testing.T) {
	t.Parallel()
	url := storetest.RefusingServer(t, "127.0.0.1:0", "57P03")
	err := Wait(t.Context(), url, "PGHOST", time.Millisecond, zerolog.Nop())
	require.ErrorContains(t, err, "gave up after 1ms")

	ctx, cancel := context.WithCancel(t.Context())
	said := make(chan string, 16)
	done := make(chan error, 1)
	go func() { done <- Wait(ctx, url, "PGHOST", 0, zerolog.New(storetest.Lines(said))) }()
	<-said
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestStandbyIsRefused(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	url := cluster.SocketURL("postgres")
	require.NoError(t, Wait(t.Context(), url, "DATABASE_URL", 0, zerolog.Nop()))

	require.NoError(t, cluster.Halt(t.Context()))
	signals, err := filepath.Glob(filepath.Join(cluster.Dir(), "*", "PG_VERSION"))
	require.NoError(t, err)
	require.Len(t, signals, 1)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(signals[0]), "standby.signal"), nil, 0o644))
	require.NoError(t, cluster.Restart(t.Context()))
	err = Wait(t.Context(), url, "DATABASE_URL", 0, zerolog.Nop())
	require.ErrorContains(t, err, "is a standby, and Rowrun writes")
}
