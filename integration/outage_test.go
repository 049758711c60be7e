package integration_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// down proves that nothing answers at url.
func down(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		_ = conn.Close(t.Context())
	}
	require.Error(t, err, "the fault: the server is gone")
}

// outages are the ways in which the server goes away.
func outages() map[string]func(*testing.T, *embeddedpg.Cluster) {
	return map[string]func(*testing.T, *embeddedpg.Cluster){
		"stopped":        func(t *testing.T, c *embeddedpg.Cluster) { require.NoError(t, c.Halt(t.Context())) },
		"killed with -9": func(_ *testing.T, c *embeddedpg.Cluster) { c.Kill() },
	}
}

func TestShortOutageCostsNothing(t *testing.T) {
	t.Parallel()
	for name, stop := range outages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := storetest.OwnCluster(t)
			d, w := openDatabase(t, storetest.On(t, cluster)), newWitness(t)
			// The fence is at 20 s.
			lease := []string{"--heartbeat-interval", "1s", "--stale-after", "30s", "--stale-sweep-interval", "500ms"}
			r := serve(t, d.url, lease, rareSweeps(), w.app())
			wait := d.task(t, "HTTP", `{"path": "/wait"}`, nil)
			during, after := d.run(t, wait), d.run(t, wait)
			ending, lasting := w.await(t, during), w.await(t, after)

			postmaster := cluster.PID()
			stop(t, cluster)
			require.ErrorIs(t, syscall.Kill(postmaster, 0), syscall.ESRCH, "the fault: no postmaster")
			down(t, d.url)
			ending.answer()
			r.log.await(t, 1, "pass failed, it goes on trying")
			require.NoError(t, cluster.Restart(t.Context()))
			d.pool.Reset()
			back := d.now(t)
			next := d.await(t, d.job(t, "HTTP", `{"path": "/ok"}`, nil), "DONE")
			require.Equal(t, "", d.await(t, during, "DONE").Code)
			lasting.answer()
			d.await(t, after, "DONE")

			t.Logf("return of the server to the first claim: %s", next.StartedAt.Sub(back))
			require.Less(t, next.StartedAt.Sub(back), 30*time.Second, "sweeps are 10 min apart")
			require.Empty(t, r.log.find(logFenced))
			require.Equal(t, []string{r.id(t)}, list[string](t, d, "SELECT replica_id FROM rowrun.replica_heartbeat WHERE state = 'ACTIVE'"))
			require.Equal(t, 3, w.total())
			require.Equal(t, []string{"DONE"}, list[string](t, d, "SELECT DISTINCT status FROM rowrun.task_run"))
		})
	}
}

func TestLongOutageEveryReplicaFencesItselfAndSettles(t *testing.T) {
	t.Parallel()
	for name, stop := range outages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			longOutage(t, stop)
		})
	}
}

func longOutage(t *testing.T, stop func(*testing.T, *embeddedpg.Cluster)) {
	cluster := storetest.OwnCluster(t)
	d, w := openDatabase(t, storetest.On(t, cluster)), newWitness(t)
	queues := []string{"one", "two"}
	var replicas []*replica
	var runs []int64
	for _, queue := range queues {
		replicas = append(replicas, serve(t, d.url, quickLease(), w.app(), []string{"--queues", queue}))
		task := d.task(t, "HTTP", `{"path": "/wait"}`, columns{"queue": queue})
		runs = append(runs, d.run(t, task), d.run(t, task))
	}
	for _, id := range runs {
		w.await(t, id)
	}

	postmaster := cluster.PID()
	stop(t, cluster)
	require.ErrorIs(t, syscall.Kill(postmaster, 0), syscall.ESRCH, "the fault: no postmaster")
	begun := time.Now()
	down(t, d.url)
	for _, r := range replicas {
		r.log.await(t, 1, logFenced)
	}
	for _, id := range runs {
		w.await(t, id).awaitAbort(t)
	}
	fenced := time.Since(begun)
	const staleAndSweep = 4 * time.Second
	eventually(t, patience, "the stale window and a sweep", func() bool { return time.Since(begun) > staleAndSweep })
	require.NoError(t, cluster.Restart(t.Context()))
	d.pool.Reset()

	for i, id := range runs {
		lost := d.await(t, id, "FAILED")
		require.Equal(t, "LOST_CONTACT", lost.Code)
		require.Equal(t, detailLostContact, lost.Detail)
		require.Equal(t, replicas[i/2].id(t), *lost.ReplicaID)
	}
	for i, queue := range queues {
		again := replicas[i].log.await(t, 2, logStarted).ReplicaID
		require.NotEqual(t, replicas[i].id(t), again)
		done := d.await(t, d.job(t, "HTTP", `{"path": "/ok"}`, columns{"queue": queue}), "DONE")
		require.Equal(t, again, *done.ReplicaID)
	}
	// The first full window of contact is over, and a sweep: whoever is to be declared dead has been.
	eventually(t, patience, "a sweep of every replica", func() bool {
		return ask[bool](t, d, "SELECT min(started_at) < clock_timestamp() - interval '4 s' FROM rowrun.replica_heartbeat")
	})
	require.Zero(t, ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING' OR result ->> 'code' = 'STALE'"))
	require.Equal(t, int64(2), ask[int64](t, d, "SELECT count(*) FROM rowrun.replica_heartbeat WHERE state = 'ACTIVE'"))
	require.Zero(t, ask[int64](t, d, "SELECT count(*) FROM rowrun.replica_heartbeat WHERE state = 'DEAD'"))
	for _, r := range replicas {
		require.Empty(t, r.log.find(logStale))
	}
	t.Logf("both fenced and stopped their work after %s", fenced)
}
