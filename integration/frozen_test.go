package integration_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFrozenReplicaComesBackAsAnotherOne(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	mine := columns{"queue": "mine"}
	frozen := serve(t, d.url, quickLease(), rareSweeps(), w.app(), []string{"--queues", "mine"})
	late := d.job(t, "HTTP", `{"path": "/wait"}`, mine)
	unfinished := d.job(t, "HTTP", `{"path": "/wait"}`, mine)
	answered, open := w.await(t, late), w.await(t, unfinished)
	other := serve(t, d.url, quickLease(), rareSweeps())

	frozen.freeze(t)
	answered.answer() // it will find the answer when it goes on: a finish that comes too late
	stale := []run{d.await(t, late, "FAILED"), d.await(t, unfinished, "FAILED")}
	for _, r := range stale {
		require.Equal(t, "STALE", r.Code)
		require.Equal(t, frozen.id(t), *r.ReplicaID)
	}
	other.log.await(t, 1, logStale) // said after the commit
	require.Equal(t, "DEAD", ask[string](t, d, "SELECT state FROM rowrun.replica_heartbeat WHERE replica_id = $1", frozen.id(t)))
	require.Equal(t, byte('T'), processState(frozen.cmd.Process.Pid), "the fault lasted")

	frozen.signal(t, syscall.SIGCONT)
	open.awaitAbort(t)
	again := frozen.log.await(t, 2, logStarted).ReplicaID
	require.NotEqual(t, frozen.id(t), again)
	require.Equal(t, "ACTIVE", ask[string](t, d, "SELECT state FROM rowrun.replica_heartbeat WHERE replica_id = $1", again))

	// It works again, under its new id, and what it had wanted to write has come to nothing.
	after := d.await(t, d.job(t, "HTTP", `{"path": "/ok"}`, mine), "DONE")
	require.Equal(t, again, *after.ReplicaID)
	for _, r := range stale {
		require.Equal(t, r, d.look(t, r.ID))
	}
	require.Len(t, w.of(late), 1)
	require.Len(t, w.of(unfinished), 1)
}
