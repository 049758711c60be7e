package embeddedpg_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestOtherVersionIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	cluster := start(t, embeddedpg.Config{Dir: dir})
	run(t, cluster.SocketURL("postgres"), "CREATE TABLE kept AS SELECT 42 AS n")
	stop(t, cluster)
	file := filepath.Join(dir, "data", "PG_VERSION")
	version, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("13\n"), 0o600))

	_, err = embeddedpg.Start(t.Context(), embeddedpg.Config{Dir: dir})
	require.ErrorIs(t, err, embeddedpg.ErrVersion)
	require.ErrorContains(t, err, "is of version 13")
	require.ErrorContains(t, err, "install PostgreSQL 13")

	require.NoError(t, os.WriteFile(file, version, 0o600))
	cluster = start(t, embeddedpg.Config{Dir: dir})
	require.Equal(t, "42", ask(t, cluster.SocketURL("postgres"), "SELECT n::text FROM kept"))
}

func TestForeignDirectoryIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o755))
	theirs := filepath.Join(dir, "data", "thesis.txt")
	require.NoError(t, os.WriteFile(theirs, nil, 0o600))
	require.NoError(t, os.Chmod(dir, 0o711))
	_, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Dir: dir})
	require.ErrorContains(t, err, "is no PostgreSQL cluster")
	require.FileExists(t, theirs)
}

func TestRunningClusterIsRefused(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	cluster := start(t, embeddedpg.Config{Dir: dir})
	_, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Dir: dir})
	require.ErrorIs(t, err, embeddedpg.ErrInUse)
	require.ErrorContains(t, err, "pid "+strconv.Itoa(os.Getpid()), "the parent that holds it")

	// Without the parent's lock, the server itself is seen.
	require.NoError(t, os.Remove(filepath.Join(dir, "lock")))
	_, err = embeddedpg.Start(t.Context(), embeddedpg.Config{Dir: dir})
	require.ErrorIs(t, err, embeddedpg.ErrInUse)
	require.ErrorContains(t, err, "pid "+strconv.Itoa(cluster.PID()))
	require.Equal(t, "1", ask(t, cluster.SocketURL("postgres"), "SELECT '1'"))
}

// A child that another goroutine forks holds this process's open files until it executes its program; a duplicate holds them as well.
func TestAStopGivesTheClusterUpWhoeverHoldsItsFiles(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	cluster := start(t, embeddedpg.Config{Dir: dir})
	shared, err := syscall.Dup(openFile(t, filepath.Join(dir, "lock")))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Close(shared)) })
	stop(t, cluster)
	start(t, embeddedpg.Config{Dir: dir})
}

// openFile is the descriptor by which this process has opened path.
func openFile(t *testing.T, path string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, entry := range entries {
		if target, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name())); err != nil || target != path {
			continue
		}
		fd, err := strconv.Atoi(entry.Name())
		require.NoError(t, err)
		return fd
	}
	require.Fail(t, "no descriptor", path)
	return -1
}

// A pid file of a crash, whose pid is somebody else's by now, is in nobody's way.
func TestStalePidFileIsNone(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	cluster := start(t, embeddedpg.Config{Dir: dir})
	cluster.Kill()
	file := filepath.Join(dir, "data", "postmaster.pid")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "\n")
	stop(t, cluster)
	require.NoError(t, os.WriteFile(file, []byte(strconv.Itoa(os.Getppid())+"\n"+rest), 0o600))

	cluster = start(t, embeddedpg.Config{Dir: dir})
	require.Equal(t, "1", ask(t, cluster.SocketURL("postgres"), "SELECT '1'"))
}

func TestKilledParentLeavesNoServer(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	child := exec.Command(os.Args[0]) //nolint:noctx // killed below
	child.Env = append(os.Environ(), childDir+"="+dir)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	killErr := child.Process.Kill()
	waitErr := child.Wait()
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err, line)
	require.NoError(t, killErr)
	var exit *exec.ExitError
	require.ErrorAs(t, waitErr, &exit)
	status, ok := exit.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGKILL, status.Signal(), "the parent was killed")

	// At once: the next start waits for a server that is on its way out.
	next := start(t, embeddedpg.Config{Dir: dir})
	require.NotEqual(t, pid, next.PID())
	eventually(t, "the end of the first server", func() bool { s := state(t, pid); return s == "" || s == "Z" })
	require.Equal(t, "1", ask(t, next.SocketURL("postgres"), "SELECT '1'"))
}

func TestLongPathGetsAShortSocket(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(directory(t), strings.Repeat("long", 30))
	cluster := start(t, embeddedpg.Config{Dir: dir})
	require.Equal(t, dir, cluster.Dir())
	require.Less(t, len(cluster.SocketDir()), 80)
	info, err := os.Stat(cluster.SocketDir())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.Equal(t, "1", ask(t, cluster.SocketURL("postgres"), "SELECT '1'"))
	stop(t, cluster)
	require.NoDirExists(t, cluster.SocketDir())
	require.DirExists(t, filepath.Join(dir, "data"))
}

// A directory that the server's user can't enter: as root elsewhere, and always the same.
func TestUnreachableDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".rowrun") // below a directory of mode 0700
	cluster := start(t, embeddedpg.Config{Dir: dir})
	if os.Geteuid() != 0 {
		require.Equal(t, dir, cluster.Dir())
		return
	}
	require.Equal(t, "/var/lib/rowrun-dev", filepath.Dir(cluster.Dir()))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(cluster.Dir())) })
	run(t, cluster.SocketURL("postgres"), "CREATE TABLE kept AS SELECT 42 AS n")
	stop(t, cluster)
	again := start(t, embeddedpg.Config{Dir: dir})
	require.Equal(t, cluster.Dir(), again.Dir())
	require.Equal(t, "42", ask(t, again.SocketURL("postgres"), "SELECT n::text FROM kept"))
	stop(t, again)
}

func TestBinariesThatDontFit(t *testing.T) {
	t.Parallel()
	empty := filepath.Dir(directory(t))
	require.NoError(t, os.Chmod(empty, 0o755))
	config := embeddedpg.Config{Ephemeral: true, BinDir: empty}
	_, err := embeddedpg.Start(t.Context(), config)
	require.ErrorIs(t, err, embeddedpg.ErrNoBinaries)
	require.ErrorContains(t, err, "holds no initdb")

	for _, name := range []string{"initdb", "postgres"} {
		storetest.WriteProgram(t, filepath.Join(empty, name), "#!/bin/sh\necho 'postgres (PostgreSQL) 14.9 (Debian 14.9-1)'\n")
	}
	_, err = embeddedpg.Start(t.Context(), config)
	require.ErrorIs(t, err, embeddedpg.ErrNoBinaries)
	require.ErrorContains(t, err, "is PostgreSQL 14: no PostgreSQL 15 or later found")

	found, err := embeddedpg.Find(t.Context())
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(found, "postgres"))
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	_, err := embeddedpg.Start(t.Context(), embeddedpg.Config{})
	require.ErrorContains(t, err, "a directory is required")
	_, err = embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Port: 70000})
	require.ErrorContains(t, err, "port 70000")
	// What the server refuses is told in its own words, and nothing stays.
	parent := filepath.Dir(directory(t))
	_, err = embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Dir: parent, Settings: map[string]string{"work_mem": "much"}})
	require.ErrorContains(t, err, `invalid value for parameter "work_mem"`)
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, left)
}
