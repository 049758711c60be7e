package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

func TestSilentListenConnectionIsNoticed(t *testing.T) {
	t.Parallel()
	const sweep = 2 * time.Second
	d := newDatabase(t)
	p := newProxy(t, d.url, nil)
	r := serve(t, p.url, []string{"--sweep-interval", sweep.String()})
	task := d.task(t, "NOOP", `{}`, nil)
	links := p.named(listenName)
	require.Len(t, links, 1)
	d.await(t, d.run(t, task), "DONE") // notifications are heard
	links[0].hole.Store(true)
	begun := time.Now()

	// One run after the other while nothing is heard.
	longest := time.Duration(0)
	for len(r.log.find(logDeaf)) == 0 {
		require.Less(t, time.Since(begun), patience, "the silence is not noticed")
		done := d.await(t, d.run(t, task), "DONE")
		longest = max(longest, done.StartedAt.Sub(done.CreatedAt))
	}
	noticed := time.Since(begun)
	require.Positive(t, links[0].dropped.Load(), "the fault: bytes were dropped")
	r.log.await(t, 2, logListening)
	t.Logf("noticed after %s; insert to start meanwhile at most %s with a sweep each %s", noticed, longest, sweep)
	require.Less(t, noticed, 7*time.Second+2*sweep, "7 s, and the last run's wait for a sweep")
	require.Less(t, longest, sweep+time.Second)
	require.Len(t, p.named(listenName), 2, "the silent connection and a new one")
}

func TestRunsEndWithoutAnyNotification(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	p := newProxy(t, d.url, nil)
	sweep := []string{"--sweep-interval", "500ms"}
	for range 2 {
		serve(t, p.url, sweep, w.app())
	}
	name := listenName
	p.withhold.Store(&name)

	canceled := d.job(t, "HTTP", `{"path": "/wait"}`, nil)
	call := w.await(t, canceled)
	require.Equal(t, "RUNNING", ask[string](t, d, "SELECT rowrun.cancel_run($1)", canceled))

	// Runs that nothing holds, and some that wait for each other: versions of one database, a plan with a limit.
	n := storetest.Count(100, 1000)
	free := d.task(t, "HTTP", `{"path": "/ok"}`, nil)
	d.exec(t, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, $2)", free, n)
	plan := ask[int64](t, d, "INSERT INTO rowrun.plan (parallel_limit) VALUES (2) RETURNING id")
	// In one transaction: what ends meanwhile has a replica look, and it would let the first go before the second is there.
	d.exec(t, fmt.Sprintf(`BEGIN;
		INSERT INTO rowrun.task (plan_id, type, payload, database_id, version)
		SELECT %[1]d, 'HTTP', '{"path": "/ok"}', 'orders', v FROM unnest('{1.10,1.9,1.2}'::text[]) v;
		INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE plan_id = %[1]d ORDER BY id;
		COMMIT`, plan))
	later := ask[int64](t, d, "INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1 s') RETURNING id", free)

	d.await(t, canceled, "CANCELED")
	call.awaitAbort(t)
	d.await(t, later, "DONE")
	eventually(t, patience, "every run ended", func() bool {
		return !ask[bool](t, d, "SELECT EXISTS (SELECT FROM rowrun.task_run WHERE status NOT IN ('DONE', 'CANCELED'))")
	})
	require.Equal(t, []string{"1.2", "1.9", "1.10"}, list[string](t, d, "SELECT version FROM rowrun.task_run WHERE plan_id = $1 ORDER BY started_at", plan))
	require.Equal(t, n+5, w.total())
	require.Positive(t, p.withheld.Load(), "the fault: notifications were dropped")
	t.Logf("%d runs; notifications dropped: %d", n+5, p.withheld.Load())
}
