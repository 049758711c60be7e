package embeddedpg_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/embeddedpg"
)

func TestStaysWithItsData(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	first := start(t, embeddedpg.Config{Dir: dir})
	require.Equal(t, dir, first.Dir())
	require.Equal(t, "logical", ask(t, first.SocketURL("postgres"), "SHOW wal_level"))
	require.Equal(t, "on", ask(t, first.SocketURL("postgres"), "SHOW fsync"))
	run(t, first.URL("postgres"), "CREATE TABLE kept AS SELECT 42 AS n")
	stop(t, first)
	require.FileExists(t, filepath.Join(dir, "data", "PG_VERSION"))
	require.FileExists(t, filepath.Join(dir, "server.log"))

	second := start(t, embeddedpg.Config{Dir: dir, Settings: map[string]string{"work_mem": "7MB"}})
	require.Equal(t, first.Port(), second.Port(), "the port that it had")
	require.Equal(t, "42", ask(t, second.URL("postgres"), "SELECT n::text FROM kept"), "and the password")
	require.Equal(t, "7MB", ask(t, second.SocketURL("postgres"), "SHOW work_mem"))
}

func TestIsPrivate(t *testing.T) {
	t.Parallel()
	cluster := start(t, embeddedpg.Config{Dir: directory(t)})
	info, err := os.Stat(cluster.SocketDir())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	info, err = os.Stat(filepath.Join(cluster.Dir(), "password"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	config, err := pgx.ParseConfig(cluster.URL("postgres"))
	require.NoError(t, err)
	wrong := strings.Replace(cluster.URL("postgres"), config.Password, "wrong", 1)
	require.ErrorContains(t, try(t, wrong, "SELECT 1"), "password authentication failed")
	require.NotContains(t, cluster.SocketURL("postgres"), config.Password)
	require.Equal(t, "127.0.0.1", ask(t, cluster.URL("postgres"), "SHOW listen_addresses"))

	log, err := os.ReadFile(filepath.Join(cluster.Dir(), "server.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), "ready to accept connections")
	require.NotContains(t, string(log), config.Password)
}

func TestEphemeralIsRemoved(t *testing.T) {
	t.Parallel()
	cluster := start(t, embeddedpg.Config{Ephemeral: true})
	require.Equal(t, "off", ask(t, cluster.SocketURL("postgres"), "SHOW fsync"))
	require.Equal(t, "on", ask(t, cluster.SocketURL("postgres"), "SHOW synchronous_commit"))
	stop(t, cluster)
	require.NoDirExists(t, cluster.Dir())
	_, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(cluster.Port())))
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	stop(t, cluster)
	require.ErrorIs(t, cluster.Restart(t.Context()), embeddedpg.ErrStopped)
}

// A parent directory that somebody names is theirs and stays.
func TestEphemeralLeavesItsParent(t *testing.T) {
	t.Parallel()
	parent := filepath.Dir(directory(t))
	require.NoError(t, os.WriteFile(filepath.Join(parent, "theirs"), nil, 0o600))
	cluster := start(t, embeddedpg.Config{Ephemeral: true, Dir: parent})
	require.Equal(t, parent, filepath.Dir(cluster.Dir()))
	stop(t, cluster)
	require.NoDirExists(t, cluster.Dir())
	require.FileExists(t, filepath.Join(parent, "theirs"))
}

func TestHaltKillRestart(t *testing.T) {
	t.Parallel()
	cluster := start(t, embeddedpg.Config{Ephemeral: true})
	url, port := cluster.SocketURL("postgres"), cluster.Port()
	run(t, url, "CREATE TABLE kept (n int)")
	for _, end := range []struct {
		name string
		end  func()
	}{
		{"halt", func() { require.NoError(t, cluster.Halt(t.Context())) }},
		{"kill", cluster.Kill},
		{"kill -9 from outside", func() { require.NoError(t, syscall.Kill(cluster.PID(), syscall.SIGKILL)); <-cluster.Done() }},
		{"restart only", func() {}},
	} {
		run(t, url, "INSERT INTO kept VALUES (1)")
		pid := cluster.PID()
		end.end()
		if end.name != "restart only" {
			<-cluster.Done()
			requireGone(t, pid)
			require.Error(t, try(t, url, "SELECT 1"), end.name)
		}
		require.NoError(t, cluster.Restart(t.Context()), end.name)
		require.NotEqual(t, pid, cluster.PID())
		require.Equal(t, port, cluster.Port())
	}
	require.Equal(t, "4", ask(t, url, "SELECT count(*)::text FROM kept"))
}

func TestKillTakesEveryProcess(t *testing.T) {
	t.Parallel()
	cluster := start(t, embeddedpg.Config{Ephemeral: true})
	conn, err := pgx.Connect(t.Context(), cluster.SocketURL("postgres"))
	require.NoError(t, err)
	backend := int(conn.PgConn().PID())
	require.NoError(t, syscall.Kill(backend, 0))
	cluster.Kill()
	require.NotEqual(t, "S", state(t, backend))
	require.Error(t, conn.Ping(t.Context()))
	require.NoError(t, cluster.Restart(t.Context()))
	require.Equal(t, "1", ask(t, cluster.SocketURL("postgres"), "SELECT '1'"))
}

func TestSuspendFreezesEveryProcess(t *testing.T) {
	t.Parallel()
	cluster := start(t, embeddedpg.Config{Ephemeral: true})
	conn, err := pgx.Connect(t.Context(), cluster.SocketURL("postgres"))
	require.NoError(t, err)
	cluster.Suspend()
	for _, pid := range []int{cluster.PID(), int(conn.PgConn().PID())} {
		eventually(t, "state T", func() bool { return state(t, pid) == "T" })
	}
	cluster.Resume()
	require.NoError(t, conn.Ping(t.Context()))
	require.NoError(t, conn.Close(t.Context()))

	cluster.Suspend()
	stop(t, cluster) // also a frozen one
}

// state is a process's letter: S sleeps, T is stopped, Z is dead; empty: gone.
func state(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	_, after, ok := strings.Cut(string(text), ") ")
	require.True(t, ok)
	return after[:1]
}
