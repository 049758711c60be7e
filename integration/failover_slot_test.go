//go:build failoverslot

package integration_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// A standby that keeps the stream's slot in step with the primary's is promoted in the midst of work: no gap, and each transition is told. The
// primary sends the stream nothing that the standby doesn't have; without that the same holds for what the writer knows that it has told.
func TestAFailoverSlotKeepsTheStream(t *testing.T) {
	t.Parallel()
	for name, standbysFirst := range map[string]bool{"standbys first": true, "its own word": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failoverSlot(t, standbysFirst)
		})
	}
}

func failoverSlot(t *testing.T, standbysFirst bool) {
	t.Helper()
	primary, rng := storetest.OwnCluster(t), chance(t)
	url := storetest.On(t, primary)
	d := openDatabase(t, url)
	require.GreaterOrEqual(t, ask[int](t, d, "SELECT current_setting('server_version_num')::int"), 170000, "run `make test-failover-slot`")
	d.exec(t, "ALTER SYSTEM SET max_slot_wal_keep_size = '4GB'")
	d.exec(t, "SELECT pg_create_physical_replication_slot('standby', true)")
	if standbysFirst {
		d.exec(t, "ALTER SYSTEM SET synchronized_standby_slots = 'standby'")
	}
	d.pool.Close()
	standby := slotKeepingStandby(t, primary)
	d = openDatabase(t, bothHosts(t, url, standby.Port()))
	out := newStream(t)
	lease := []string{"--heartbeat-interval", "1s", "--stale-after", "10s", "--stale-sweep-interval", "1s"}
	all := []*scribe{launchScribe(t, d.url, out, lease)}
	if standbysFirst { // then any of them may write afterwards
		all = append(all, launchScribe(t, d.url, out, lease))
	}
	writer(t, d, all).log.await(t, 1, logFromWAL)
	copied, err := pgx.Connect(t.Context(), standby.SocketURL("postgres"))
	require.NoError(t, err)
	eventually(t, patience, "the slot on the standby", func() bool {
		var synced bool
		require.NoError(t, copied.QueryRow(t.Context(), `SELECT coalesce(bool_or(synced AND NOT temporary), false) FROM pg_replication_slots WHERE slot_name LIKE 'rowrun_stream_%'`).Scan(&synced))
		return synced
	})
	require.NoError(t, copied.Close(t.Context()))
	stop := users(t, d, rng)
	defer stop()
	eventually(t, patience, "some runs", moreRuns(t, d, 100))

	before := ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run")
	if standbysFirst {
		primary.Kill()
	} else { // which sends the standby all that it has: what was told is there
		stop()
		require.NoError(t, primary.Halt(t.Context()))
	}
	t.Cleanup(func() { require.NoError(t, primary.Restart(context.Background())) }) // its database is dropped there
	promote(t, standby)
	d.pool.Reset()
	newest := ask[int64](t, d, "SELECT max(id) FROM rowrun.task_run") + 100 // what may have come meanwhile
	if !standbysFirst {
		stop = users(t, d, rng)
		defer stop()
	}
	eventually(t, patience, "runs on the new primary", moreRuns(t, d, before+300))
	writer(t, d, all)
	stop()
	endAll(t, d, all)
	require.Equal(t, "00000002", ask[string](t, d, "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)"), "the fault: a promotion")
	_, gaps := out.written(t)
	require.Empty(t, gaps)
	told := map[int64]map[string]bool{}
	later := 0
	for _, l := range out.lines(t) {
		if l.RunID > newest {
			require.NotNil(t, l.LSN, "run %d comes from the log of the new primary", l.RunID)
			later++
		}
		if told[l.RunID] == nil {
			told[l.RunID] = map[string]bool{}
		}
		told[l.RunID][l.To] = true
	}
	reached := requireTold(t, d, told)
	require.Positive(t, later)
	t.Logf("%d transitions, no gap", reached)
}

// slotKeepingStandby copies a server that stands still, and starts both.
func slotKeepingStandby(t *testing.T, primary *embeddedpg.Cluster) *embeddedpg.Cluster {
	t.Helper()
	dir := standbyDirectory(t, primary)
	require.NoError(t, primary.Halt(t.Context()))
	out, err := exec.CommandContext(t.Context(), "cp", "-a", filepath.Join(primary.Dir(), "data"), filepath.Join(dir, "data")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, primary.Restart(t.Context()))
	signal := filepath.Join(dir, "data", "standby.signal")
	require.NoError(t, os.WriteFile(signal, nil, 0o644)) //nolint:gosec // the server's user reads it, and removes it
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "data", "pg_replslot", "standby")))
	return startStandby(t, dir, map[string]string{
		"primary_conninfo": primary.URL("postgres"), "primary_slot_name": "standby", "hot_standby_feedback": "on", "sync_replication_slots": "on",
		"synchronized_standby_slots": "",
	})
}
