package connect

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
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

// boundSocket is one that nobody listens on: connections are refused, and no other test is given its port.
func boundSocket(t *testing.T) (socket int, address string) {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := syscall.Getsockname(socket)
	require.NoError(t, err)
	bound, ok := name.(*syscall.SockaddrInet4)
	require.True(t, ok)
	return socket, net.JoinHostPort("127.0.0.1", strconv.Itoa(bound.Port))
}

func TestDatabaseThatIsNotUpYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	socket, address := boundSocket(t) // nobody is there now

	said := make(chan string, 16)
	done := make(chan error, 1)
	go func() {
		done <- Wait(t.Context(), "postgres://u@"+address+"/app?sslmode=disable", "DATABASE_URL", 0, zerolog.New(storetest.Lines(said)))
	}()
	require.Contains(t, <-said, "connection refused")
	require.NoError(t, syscall.Listen(socket, 16))
	file := os.NewFile(uintptr(socket), "socket") //nolint:gosec // a descriptor
	listener, err := net.FileListener(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	storetest.RefuseOn(t, listener, "3D000")
	require.ErrorContains(t, <-done, "no such database")
}

// The last try has only what is left of the patience: that it was cut short says nothing, what the ones before it met does.
func TestWhoGivesUpSaysWhatItMetAndNotThatTimeWasUp(t *testing.T) {
	t.Parallel()
	socket, address := boundSocket(t)

	said := make(chan string, 16)
	done := make(chan error, 1)
	go func() {
		done <- Wait(t.Context(), "postgres://u@"+address+"/app?sslmode=disable", "DATABASE_URL", 3*time.Second, zerolog.New(storetest.Lines(said)))
	}()
	require.Contains(t, <-said, "connection refused")
	require.NoError(t, syscall.Listen(socket, 16)) // the kernel takes the connection, and nobody answers
	defer func() { _ = syscall.Close(socket) }()
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
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'") // which a standby can't
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))

	require.NoError(t, cluster.Halt(t.Context()))
	signals, err := filepath.Glob(filepath.Join(cluster.Dir(), "*", "PG_VERSION"))
	require.NoError(t, err)
	require.Len(t, signals, 1)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(signals[0]), "standby.signal"), nil, 0o644))
	require.NoError(t, cluster.Restart(t.Context()))
	err = Wait(t.Context(), url, "DATABASE_URL", 0, zerolog.Nop())
	require.ErrorContains(t, err, "is a standby, and Rowrun writes")
}

func TestAServerWithoutTheTLSThatIsAskedForIsRefused(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 8))
			_, _ = conn.Write([]byte("N"))
			_ = conn.Close()
		}
	}()
	err = Wait(t.Context(), "postgres://u@"+listener.Addr().String()+"/app?sslmode=require", "DATABASE_URL", time.Second, zerolog.Nop())
	require.ErrorContains(t, err, "(DATABASE_URL): the server has no TLS, which sslmode asks for")
	err = Wait(t.Context(), "postgres://u@"+listener.Addr().String()+"/app?sslmode=prefer", "DATABASE_URL", time.Second, zerolog.Nop())
	require.ErrorContains(t, err, "gave up after 1s")
	require.NoError(t, listener.Close())
	<-served
}
