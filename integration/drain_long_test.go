package integration_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// SIGTERM during long runs: one that ends within the drain is DONE, the others are stopped, and where the task says so
// they go on elsewhere at once.
func TestLongRunsOfADrainedReplica(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	leaving := serve(t, d.url, rareSweeps(), w.app(), []string{"--drain-timeout", "8s"})
	ends := d.job(t, "HTTP", `{"path": "/wait"}`, nil)
	stays := d.job(t, "HTTP", `{"path": "/wait"}`, columns{"on_stale": "RETRY"})
	fails := d.job(t, "HTTP", `{"path": "/wait"}`, nil)
	ending := w.await(t, ends)
	for _, id := range []int64{stays, fails} {
		w.await(t, id)
	}
	heir := serve(t, d.url, rareSweeps(), w.app())

	leaving.signal(t, syscall.SIGTERM)
	leaving.log.await(t, 1, "drain started")
	ending.answer()
	d.await(t, ends, "DONE")
	require.Equal(t, "RUNNING", d.look(t, stays).Status, "it has time until the drain is over")
	require.Zero(t, leaving.wait(t), "exit code")

	require.Equal(t, leaving.id(t), *d.look(t, ends).ReplicaID)
	for _, id := range []int64{stays, fails} {
		r := d.look(t, id)
		require.Equal(t, "FAILED DRAINED "+detailDrained, r.Status+" "+r.Code+" "+r.Detail)
	}
	require.Nil(t, d.look(t, fails).RetryRunID)
	again := w.await(t, *d.look(t, stays).RetryRunID)
	again.answer()
	next := d.await(t, again.run, "DONE")
	require.Equal(t, heir.id(t), *next.ReplicaID)
	require.Equal(t, 4, w.total())
}
