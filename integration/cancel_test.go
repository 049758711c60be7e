package integration_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCancelInEachStatus(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	for range 2 {
		serve(t, d.url, rareSweeps(), w.app())
	}
	const byFunction, byStatus = "SELECT rowrun.cancel_run($1, 'not needed')", "UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = $1"
	const byRequest = "UPDATE rowrun.task_run SET cancel_requested_at = now() WHERE id = $1"
	pending := func() int64 {
		return ask[int64](t, d, "INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1 h') RETURNING id",
			d.task(t, "NOOP", `{}`, nil))
	}
	available := func() int64 {
		id := d.job(t, "NOOP", `{}`, columns{"queue": "nobody serves it"})
		d.await(t, id, "AVAILABLE")
		return id
	}
	for _, how := range []string{byFunction, byStatus, byRequest} {
		for _, id := range []int64{pending(), available()} {
			d.exec(t, how, id)
			r := d.look(t, id)
			require.Equal(t, "CANCELED CANCELED", r.Status+" "+r.Code, how)
			require.NotNil(t, r.FinishedAt)
			require.Nil(t, r.RetryRunID)
		}

		// RUNNING: it gets no successor, whatever it might have had.
		id := d.job(t, "HTTP", `{"path": "/wait"}`, columns{"max_attempts": 3, "on_stale": "RETRY"})
		open := w.await(t, id)
		require.Equal(t, "RUNNING", d.look(t, id).Status)
		asked := time.Now()
		d.exec(t, how, id)
		if how == byStatus {
			require.Equal(t, "CANCELED", d.look(t, id).Status, "at once")
		}
		open.awaitAbort(t)
		aborted := time.Since(asked)
		r := d.await(t, id, "CANCELED")
		require.Equal(t, "CANCELED", r.Code)
		require.Nil(t, r.RetryRunID)
		t.Logf("%s: the executor was stopped after %s", how, aborted)
	}

	// What has ended stays as it is.
	id := d.job(t, "NOOP", `{}`, nil)
	done := d.await(t, id, "DONE")
	require.Equal(t, "DONE", ask[string](t, d, byFunction, id))
	d.refused(t, "RR001", byStatus, id)
	require.Equal(t, done, d.look(t, id))
}

func TestRetryManyTimesAtOnceMakesOneSuccessor(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	serve(t, d.url, rareSweeps())
	for _, kind := range []string{`{"fail": "as asked"}`, `{"sleep": "1h"}`} {
		id, want := d.job(t, "NOOP", kind, nil), "FAILED"
		if kind != `{"fail": "as asked"}` {
			want = "CANCELED"
			d.await(t, id, "RUNNING")
			d.exec(t, "SELECT rowrun.cancel_run($1)", id)
		}
		d.await(t, id, want)
		d.exec(t, "UPDATE rowrun.task SET payload = '{}'")

		var together sync.WaitGroup
		made, errs := make([]int64, 8), make([]error, 8)
		for i := range made {
			together.Go(func() {
				errs[i] = d.pool.QueryRow(t.Context(), "SELECT rowrun.retry_run($1)", id).Scan(&made[i])
			})
		}
		together.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		require.Len(t, slices.Compact(made), 1)
		require.Equal(t, []int64{made[0]}, list[int64](t, d, "SELECT id FROM rowrun.task_run WHERE retry_of = $1", id))
		next := d.await(t, made[0], "DONE")
		require.Equal(t, 1, next.Attempt)
		require.Equal(t, made[0], ask[int64](t, d, "SELECT last_run_id FROM rowrun.job WHERE root_id = $1", id))
		d.refused(t, "RR004", "SELECT rowrun.retry_run($1)", made[0])
	}
}
