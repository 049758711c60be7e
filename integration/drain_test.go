package integration_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

func TestDrainUnderLoad(t *testing.T) {
	t.Parallel()
	const (
		drain = 5 * time.Second
		// What a claim may take that was under way when the signal came.
		roundTrip  = 500 * time.Millisecond
		concurrent = 10
	)
	d, w, rng := newDatabase(t), newWitness(t), chance(t)
	r := serve(t, d.url, rareSweeps(), w.app(), []string{
		"--drain-timeout", drain.String(), "--heartbeat-interval", "200ms", "--stale-after", "6s", "--concurrency", "10",
	})
	id := r.id(t)
	taken := takenOver(t, d, w)
	long := d.job(t, "HTTP", `{"path": "/wait"}`, columns{"priority": 1})
	open := w.await(t, long)
	short := d.task(t, "NOOP", `{"sleep": "100ms"}`, nil)
	n := storetest.Count(1000, 3000)
	d.exec(t, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, $2)", short, n)
	some := 20 + rng.IntN(50)
	eventually(t, patience, "load", func() bool {
		return ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE status = 'DONE'") >= some
	})

	r.signal(t, syscall.SIGTERM)
	asked, signaled := d.now(t), time.Now()
	silent, draining := time.Duration(0), false
	for ended := false; !ended; {
		// The row goes last: as long as it is there, it is young.
		for _, ms := range list[float64](t, d, `SELECT (1000 * extract(epoch FROM clock_timestamp() - last_heartbeat))::float8
			FROM rowrun.replica_heartbeat WHERE replica_id = $1`, id) {
			silent = max(silent, time.Duration(ms*float64(time.Millisecond)))
		}
		draining = draining || ask[bool](t, d, "SELECT EXISTS (SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'DRAINING')", id)
		select {
		case <-r.exited:
			ended = true
		case <-time.After(20 * time.Millisecond):
			require.Less(t, time.Since(signaled), patience, "it does not end")
		}
	}
	took := time.Since(signaled)
	require.Zero(t, r.wait(t), "exit code")
	require.Less(t, took, drain+time.Second)
	require.True(t, draining, "its row said DRAINING")
	require.Less(t, silent, 3*time.Second, "heartbeats went on")

	require.Positive(t, ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE')"), "there was more to claim")
	late := ask[*time.Time](t, d, "SELECT max(started_at) FROM rowrun.task_run WHERE replica_id = $1", id)
	require.True(t, late.Before(asked.Add(roundTrip)), "a run was claimed %s after the signal", late.Sub(asked))
	after := ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE started_at > $1", asked)
	require.LessOrEqual(t, after, concurrent, "more than one claim came after the signal")
	t.Logf("drained in %s; runs started after the signal: %d, the last %s; longest silence %s", took, after, late.Sub(asked), silent)

	lost := d.look(t, long)
	require.Equal(t, "FAILED DRAINED "+detailDrained, lost.Status+" "+lost.Code+" "+lost.Detail)
	open.awaitAbort(t)
	require.Equal(t, []int64{long}, list[int64](t, d, "SELECT id FROM rowrun.task_run WHERE status = 'FAILED'"), "the rest was finished")
	require.Equal(t, []int64{taken.run}, list[int64](t, d, "SELECT id FROM rowrun.task_run WHERE status = 'RUNNING'"))
	require.Zero(t, ask[int](t, d, "SELECT count(*)::int FROM rowrun.replica_heartbeat"))
}

func TestSecondSignalEndsTheProcessAtOnce(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	// Each round's run waits at the app for longer than the round.
	for range storetest.Count(5, 200) {
		r := serve(t, d.url, rareSweeps(), w.app())
		w.await(t, d.job(t, "HTTP", `{"path": "/wait"}`, nil))
		r.signal(t, syscall.SIGTERM)
		r.log.await(t, 1, "drain started")
		begun := time.Now()
		r.signal(t, syscall.SIGTERM)
		require.NotZero(t, r.wait(t))
		require.Less(t, time.Since(begun), 15*time.Second, "the drain takes 30 s")
	}
}
