package embeddedpg_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// patience is how long a test waits for what must come; never how long it takes.
const patience = time.Minute

// childDir makes the test binary a process that starts a cluster and waits to be killed.
const childDir = "EMBEDDEDPG_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir, ok := os.LookupEnv(childDir); ok {
		cluster, err := embeddedpg.Start(context.Background(), embeddedpg.Config{Dir: dir})
		if err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		fmt.Println(cluster.PID())
		<-cluster.Done()
		os.Exit(4)
	}
	storetest.Main(m)
}

// directory is for a cluster that stays: one that the server's user can reach,
// which t.TempDir as it is made is not when root tests.
func directory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o711))
	return filepath.Join(dir, "db")
}

func start(t *testing.T, config embeddedpg.Config) *embeddedpg.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cluster, err := embeddedpg.Start(ctx, config)
	require.NoError(t, err)
	t.Cleanup(func() { stop(t, cluster) })
	return cluster
}

func stop(t *testing.T, cluster *embeddedpg.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, cluster.Stop(ctx))
	requireGone(t, cluster.PID())
}

func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "no process %d", pid)
}

// run executes SQL on a new connection.
func run(t *testing.T, url, sql string) {
	t.Helper()
	require.NoError(t, try(t, url, sql))
}

func try(t *testing.T, url, sql string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

func ask(t *testing.T, url, sql string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	var answer string
	require.NoError(t, conn.QueryRow(ctx, sql).Scan(&answer))
	require.NoError(t, conn.Close(ctx))
	return answer
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatal("did not come: " + what)
		case <-tick.C:
		}
	}
}
