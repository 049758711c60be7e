package integration_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// One after the other, also when the run has ended: the key's run is the answer, and a plain INSERT is refused.
func TestKeyUsedAgainMakesNoSecondRun(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	serve(t, d.url, rareSweeps(), w.app())
	task := d.task(t, "HTTP", `{"path": "/ok"}`, columns{"name": "pay"})
	const byFunction = "SELECT rowrun.run_task('pay', idempotency_key => 'order 7')"
	const byInsert = "INSERT INTO rowrun.task_run (task_id, idempotency_key) VALUES ($1, 'order 7')"
	first := ask[int64](t, d, byFunction)
	require.Equal(t, first, ask[int64](t, d, byFunction))
	d.await(t, first, "DONE")
	require.Equal(t, first, ask[int64](t, d, byFunction))
	d.refused(t, "23505", byInsert, task)
	require.Zero(t, d.exec(t, byInsert+" ON CONFLICT DO NOTHING", task))
	other := d.job(t, "HTTP", `{"path": "/ok"}`, nil)
	d.exec(t, "INSERT INTO rowrun.task_run (task_id, idempotency_key) SELECT task_id, 'order 7' FROM rowrun.task_run WHERE id = $1", other)
	eventually(t, patience, "the end of all", func() bool {
		return ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE status = 'DONE'") == 3
	})
	require.Equal(t, 3, w.total(), "the same key of another task is another key")
	require.Len(t, w.of(first), 1)
}

// At the same time: all callers get one run, which runs once.
func TestKeyUsedAtTheSameTimeMakesOneRun(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	for range 2 {
		serve(t, d.url, rareSweeps(), w.app())
	}
	d.task(t, "HTTP", `{"path": "/ok"}`, columns{"name": "pay"})
	rounds := storetest.Count(20, 200)
	for round := range rounds {
		var together sync.WaitGroup
		ids, errs := make([]int64, 8), make([]error, 8)
		for i := range ids {
			together.Go(func() {
				errs[i] = d.pool.QueryRow(t.Context(), "SELECT rowrun.run_task('pay', idempotency_key => $1::int::text)", round).Scan(&ids[i])
			})
		}
		together.Wait()
		for i := range ids {
			require.NoError(t, errs[i])
			require.Equal(t, ids[0], ids[i])
		}
		d.await(t, ids[0], "DONE")
	}
	require.Equal(t, rounds, ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run"))
	require.Equal(t, rounds, w.total())
}

// A batch with one key that exists: nothing of it, or all the others, each of which runs once.
func TestBatchWithOneDuplicate(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	serve(t, d.url, rareSweeps(), w.app())
	d.task(t, "HTTP", `{"path": "/ok"}`, columns{"name": "pay"})
	d.await(t, ask[int64](t, d, "SELECT rowrun.run_task('pay', idempotency_key => '50')"), "DONE")
	const batch = `SELECT rowrun.enqueue_many('pay', (SELECT jsonb_agg(jsonb_build_object('n', n)) FROM generate_series(1, 100) n),
		ARRAY(SELECT n::text FROM generate_series(1, 100) n), on_conflict => $1)`
	d.refused(t, "23505", batch, "FAIL")
	require.Equal(t, 1, ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run"), "all or nothing")
	require.Len(t, list[int64](t, d, batch, "SKIP"), 99)
	require.Empty(t, list[int64](t, d, batch, "SKIP"), "all of them exist")
	eventually(t, patience, "the end of all", func() bool {
		return ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE status = 'DONE'") == 100
	})
	require.Equal(t, 100, ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run"))
	require.Equal(t, 100, w.total())
}
