package integration_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// serviceManager is the socket on which systemd would listen.
type serviceManager struct{ conn *net.UnixConn }

func newServiceManager(t *testing.T) (m *serviceManager, variables []string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "socket")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &serviceManager{conn}, []string{"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=900000"}
}

// next is the next message, "": none came in time.
func (m *serviceManager) next(t *testing.T, within time.Duration) string {
	t.Helper()
	var text [4096]byte
	require.NoError(t, m.conn.SetReadDeadline(time.Now().Add(within)))
	n, err := m.conn.Read(text[:])
	if err != nil {
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	return string(text[:n])
}

// await reads until a message begins so, and returns what came before it.
func (m *serviceManager) await(t *testing.T, want string) (before []string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		text := m.next(t, patience)
		if strings.HasPrefix(text, want) {
			return before
		}
		before = append(before, text)
	}
	require.FailNow(t, "not told: "+want, "%q", before)
	return nil
}

func TestServiceManagerIsToldOfStartLifeAndStop(t *testing.T) {
	t.Parallel()
	manager, variables := newServiceManager(t)
	r := launchWith(t, storetest.New(t), variables, []string{"--http-addr", "127.0.0.1:0"})
	before := manager.await(t, "READY=1")
	require.Contains(t, before, "STATUS=waiting for the database")
	r.log.await(t, 1, logStarted) // it is ready with its first heartbeat
	manager.await(t, "STATUS=ready: 0 of 20 running")
	manager.await(t, "WATCHDOG=1")

	r.freeze(t)
	for manager.next(t, 50*time.Millisecond) != "" { // what was on its way
	}
	require.Empty(t, manager.next(t, 2*time.Second), "a process that stands still tells the watchdog nothing")
	r.signal(t, syscall.SIGCONT)
	manager.await(t, "WATCHDOG=1")

	r.meant = true
	r.signal(t, syscall.SIGTERM)
	manager.await(t, "STOPPING=1")
	require.Zero(t, r.wait(t))
}
