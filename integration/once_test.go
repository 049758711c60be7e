package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// Sweeps are 10 min apart: every one of these runs was brought by a wake-up.
func TestTwoReplicasRunEachRunOnce(t *testing.T) {
	t.Parallel()
	n, rng := storetest.Count(1000, 10000), chance(t)
	d, w := newDatabase(t), newWitness(t)
	one := serve(t, d.url, rareSweeps(), w.app())
	two := serve(t, d.url, rareSweeps(), w.app())
	task := d.task(t, "HTTP", `{"path": "/ok"}`, nil)

	begun := time.Now()
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = ask[int64](t, d, "INSERT INTO rowrun.task_run (task_id, priority) VALUES ($1, $2) RETURNING id", task, rng.IntN(3))
	}
	inserted := time.Since(begun)
	eventually(t, 5*patience, "all runs ended", func() bool {
		return !ask[bool](t, d, "SELECT EXISTS (SELECT FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING'))")
	})
	ended := time.Since(begun)

	require.Equal(t, int64(n), ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'"))
	require.Equal(t, int64(n), ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run"), "no run has a successor")
	require.Equal(t, n, w.total())
	for _, id := range ids {
		require.Len(t, w.of(id), 1, "calls of run %d", id)
	}
	share := func(r *replica) int64 {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE replica_id = $1", r.id(t))
	}
	t.Logf("%d runs: inserted in %s, all ended after %s; by replica: %d and %d", n, inserted, ended, share(one), share(two))
	t.Logf("insert to start, ms: %s", ask[string](t, d, `SELECT concat_ws(', ', 'p50 ' || round(1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY s)),
		'p99 ' || round(1000 * percentile_cont(0.99) WITHIN GROUP (ORDER BY s)))
		FROM (SELECT extract(epoch FROM started_at - created_at) AS s FROM rowrun.task_run) x`))
	require.Positive(t, share(one))
	require.Positive(t, share(two))
}
