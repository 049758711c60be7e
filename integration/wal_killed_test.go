package integration_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// users insert, cancel and retry at random until stopped, and rest for 300 ms of each second; whatever an outage refuses is
// tried another time.
func users(t *testing.T, d *database, rng *rand.Rand) (stop func()) {
	t.Helper()
	tasks := []int64{
		d.task(t, "NOOP", `{}`, nil),
		d.task(t, "NOOP", `{"fail": "on purpose"}`, columns{"max_attempts": 2, "retry_delay": "0"}),
		d.task(t, "NOOP", `{"sleep": "20ms"}`, nil),
		d.task(t, "NOBODY", `{}`, nil),
		d.task(t, "NOOP", `{}`, columns{"database_id": "gated"}),
	}
	config, err := pgxpool.ParseConfig(d.url)
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range 3 {
		own := rand.New(rand.NewPCG(rng.Uint64(), 1)) //nolint:gosec // not a secret
		wg.Go(func() {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				if time.Now().UnixMilli()%1000 < 300 {
					continue // all of them rest at once: what comes due now is the only run that is AVAILABLE, and starts at once
				}
				step, done := context.WithTimeout(ctx, 2*time.Second)
				switch own.IntN(7) {
				case 0:
					_, _ = pool.Exec(step, "SELECT rowrun.cancel_run(max(id)) FROM rowrun.task_run WHERE task_id = $1", tasks[3])
				case 1:
					_, _ = pool.Exec(step, "INSERT INTO rowrun.task_run (task_id) SELECT unnest($1::bigint[])", tasks)
				case 2:
					_, _ = pool.Exec(step, "SELECT rowrun.retry_run(max(id)) FROM rowrun.task_run WHERE task_id = $1 AND status = 'FAILED'", tasks[1])
				case 3:
					_, _ = pool.Exec(step, "INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + $2 * interval '1 ms')", tasks[0], own.IntN(600))
				default:
					_, _ = pool.Exec(step, "INSERT INTO rowrun.task_run (task_id) VALUES ($1)", tasks[own.IntN(len(tasks))])
				}
				done()
			}
		})
	}
	return sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		pool.Close()
	})
}

// writer is the replica that writes, once there is one.
func writer(t *testing.T, d *database, all []*scribe) *scribe {
	t.Helper()
	var found *scribe
	eventually(t, patience, "somebody writes the stream from the log", func() bool {
		var id string
		err := d.pool.QueryRow(t.Context(), `SELECT stream_replica_id FROM rowrun.deployment d
			JOIN pg_replication_slots s ON s.slot_name = 'rowrun_stream_' || left(d.id::text, 8) AND s.active`).Scan(&id)
		if err != nil {
			return false
		}
		for _, s := range all {
			for _, e := range s.log.find(logStarted) {
				if e.ReplicaID == id {
					found = s
				}
			}
		}
		return found != nil
	})
	return found
}

func TestStreamEqualsTheLogWhateverIsKilled(t *testing.T) {
	t.Parallel()
	cluster, rng := storetest.OwnCluster(t), chance(t)
	d := openDatabase(t, storetest.On(t, cluster))
	d.exec(t, "ALTER SYSTEM SET max_slot_wal_keep_size = '4GB'")
	d.exec(t, "SELECT pg_reload_conf()")
	truth := newOracle(t, d)
	lease := []string{"--heartbeat-interval", "1s", "--stale-after", "10s", "--stale-sweep-interval", "1s"}
	out := newStream(t) // of all processes, as they wrote it
	var all, alive []*scribe
	start := func() {
		s := launchScribe(t, d.url, out, lease)
		all, alive = append(all, s), append(alive, s)
	}
	start()
	start()
	writer(t, d, alive).log.await(t, 1, logFromWAL) // a slot doesn't see what was before it
	stop := users(t, d, rng)
	defer stop()

	kills := storetest.Count(6, 50)
	for range kills {
		w := writer(t, d, alive)
		before := ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run")
		if rng.IntN(2) == 0 {
			w.kill(t)
			killed := time.Now()
			alive = slices.DeleteFunc(alive, func(s *scribe) bool { return s == w })
			next := writer(t, d, alive)
			require.NotSame(t, w, next)
			require.Less(t, time.Since(killed), 15*time.Second)
			start()
		} else {
			cluster.Kill()
			require.NoError(t, cluster.Restart(t.Context()))
			d.pool.Reset()
			writer(t, d, alive)
		}
		eventually(t, patience, "more runs", func() bool {
			var n int64
			err := d.pool.QueryRow(t.Context(), "SELECT count(*) FROM rowrun.task_run").Scan(&n)
			return err == nil && n > before+20
		})
	}
	stop()
	eventually(t, patience, "the end of all that somebody runs", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND type = 'NOOP'") == 0
	})
	writer(t, d, alive)
	expected := truth.transitions(t)
	eventually(t, patience, "the last lines", func() bool {
		return confirmed(t, d)
	})
	for _, s := range alive {
		s.signal(t, syscall.SIGTERM)
		require.Zero(t, s.wait(t))
	}

	told, gaps := out.written(t)
	require.Empty(t, gaps, "none is due")
	for i := range min(len(expected), len(told)) {
		require.Equal(t, expected[i], told[i], "transition %d", i)
	}
	require.Len(t, told, len(expected))
	t.Logf("%d kills, %d transitions, %d runs promoted and claimed at once, %d processes, %d lines", kills, len(expected), truth.atOnce, len(all), len(out.lines(t)))
	switch {
	case storetest.TwoSteps(t, false):
		require.Zero(t, truth.atOnce, "promoted and claimed at once")
	case kills >= 50: // with few, a busy machine may have kept replicas from ever having slots to spare
		require.Positive(t, truth.atOnce, "promoted and claimed at once")
	}
}

// confirmed says that all that is in the log now was written.
func confirmed(t *testing.T, d *database) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var end string
	require.NoError(t, d.pool.QueryRow(ctx, "SELECT pg_current_wal_flush_lsn()::text").Scan(&end))
	var there bool
	for deadline := time.Now().Add(2 * time.Second); !there && time.Now().Before(deadline); {
		require.NoError(t, d.pool.QueryRow(ctx, `SELECT s.confirmed_flush_lsn >= $1::text::pg_lsn FROM pg_replication_slots s, rowrun.deployment d
			WHERE s.slot_name = 'rowrun_stream_' || left(d.id::text, 8)`, end).Scan(&there))
	}
	return there
}
