package integration_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/embeddedpg"
)

// newStandby copies a server, and starts the copy as its physical standby.
func newStandby(t *testing.T, primary *embeddedpg.Cluster) *embeddedpg.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := standbyDirectory(t, primary)
	bin, err := embeddedpg.Find(ctx)
	require.NoError(t, err)
	copied := exec.CommandContext(ctx, filepath.Join(bin, "pg_basebackup"), "-D", filepath.Join(dir, "data"), "-R", "-X", "stream", "-c", "fast", "--no-sync",
		"-d", primary.URL("postgres"))
	out, err := copied.CombinedOutput()
	require.NoError(t, err, "%s", out)
	info, err := os.Stat(filepath.Join(primary.Dir(), "data"))
	require.NoError(t, err)
	owner, ok := info.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	}))
	return startStandby(t, dir, nil)
}

// standbyDirectory is where a copy goes: beside the primary, where the server's user can go.
func standbyDirectory(t *testing.T, primary *embeddedpg.Cluster) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(primary.Dir()), "rowrun-standby-") //nolint:usetesting // as above
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o711)) //nolint:gosec // to pass through, not to look
	require.NoError(t, os.WriteFile(filepath.Join(dir, "password"), []byte("none\n"), 0o600))
	return dir
}

func startStandby(t *testing.T, dir string, more map[string]string) *embeddedpg.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bin, err := embeddedpg.Find(ctx)
	require.NoError(t, err)
	settings := map[string]string{ // what the primary has, or more: a standby refuses less
		"max_connections": "300", "max_replication_slots": "64", "max_wal_senders": "64", "max_slot_wal_keep_size": "4GB", "fsync": "off",
	}
	maps.Copy(settings, more)
	standby, err := embeddedpg.Start(ctx, embeddedpg.Config{Dir: dir, BinDir: bin, Settings: settings})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, standby.Stop(ctx))
	})
	return standby
}

// bothHosts leads to whichever of two servers takes writes.
func bothHosts(t *testing.T, address string, other int) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	query := u.Query()
	query.Set("host", query.Get("host")+",127.0.0.1")
	query.Set("port", query.Get("port")+","+strconv.Itoa(other))
	query.Set("target_session_attrs", "read-write")
	u.RawQuery = query.Encode()
	return u.String()
}

// promote makes a standby the primary, and waits until it is.
func promote(t *testing.T, standby *embeddedpg.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, standby.SocketURL("postgres"))
	require.NoError(t, err)
	defer func() { _ = conn.Close(ctx) }()
	var promoted bool
	require.NoError(t, conn.QueryRow(ctx, "SELECT pg_promote()").Scan(&promoted))
	require.True(t, promoted, "the fault: a promotion")
}

// moreRuns asks whether there are more runs than so many. A server that is away says no.
func moreRuns(t *testing.T, d *database, than int64) func() bool {
	t.Helper()
	return func() bool {
		var n int64
		return d.pool.QueryRow(t.Context(), "SELECT count(*) FROM rowrun.task_run").Scan(&n) == nil && n > than
	}
}

// endAll waits until the runs that nobody ends by hand are over and told of, and stops the replicas.
func endAll(t *testing.T, d *database, all []*scribe) {
	t.Helper()
	eventually(t, patience, "the end of all that somebody runs", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND type = 'NOOP'") == 0
	})
	eventually(t, patience, "the last lines", func() bool { return confirmed(t, d) })
	for _, s := range all {
		s.signal(t, syscall.SIGTERM)
		require.Zero(t, s.wait(t))
	}
}

// requireTold holds what was told of each run against each transition that the rows know. It returns how many these are.
func requireTold(t *testing.T, d *database, told map[int64]map[string]bool) int {
	t.Helper()
	reached := list[string](t, d, `SELECT concat_ws(' ', r.id, s.to)
		FROM rowrun.task_run r CROSS JOIN LATERAL (VALUES ('PENDING', r.created_at), ('AVAILABLE', r.available_at), ('RUNNING', r.started_at),
			(r.status, r.finished_at)) s("to", at) WHERE s.at IS NOT NULL ORDER BY r.id, s.at`)
	for _, transition := range reached {
		var id int64
		var to string
		_, err := fmt.Sscan(transition, &id, &to)
		require.NoError(t, err)
		require.True(t, told[id][to], "%s is missing", transition)
	}
	require.NotEmpty(t, reached)
	return len(reached)
}
