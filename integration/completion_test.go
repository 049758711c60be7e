package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// The connection is cut at the commit of a run's end, before it or behind it: the run ends once, is announced once, and
// gets the successors that one end brings.
func TestRunWhoseCompletionIsLostEndsOnce(t *testing.T) {
	t.Parallel()
	d, w, lose := newDatabase(t), newWitness(t), &plan{}
	serve(t, newProxy(t, d.url, lose).url, rareSweeps(), w.app())
	for _, fault := range []string{"commit", "answer"} {
		arm := func(what string) { lose.arm(what, 1) }
		if fault == "commit" {
			arm = lose.armCommit
		}
		heard := listenToEnds(t, d)
		arm("end_plain_runs")
		done := d.job(t, "HTTP", `{"path": "/ok"}`, columns{"max_attempts": 3, "on_stale": "RETRY"})
		d.await(t, done, "DONE")
		eventually(t, patience, "the fault: the connection is cut at the "+fault, lose.took)
		require.Len(t, w.of(done), 1, "the app was called once")

		// The successor comes late enough to be claimed by itself: an ending that is written again may go along with a claim, and what is lost with
		// that answer is a stray, for two sweeps to find.
		arm("end_runs")
		failed := d.job(t, "NOOP", `{"fail": "on purpose"}`, columns{"max_attempts": 2, "retry_delay": "2 s"})
		eventually(t, patience, "the end of the chain", func() bool {
			return ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE root_id = $1 AND status = 'FAILED'", failed) == 2
		})
		require.True(t, lose.took(), "the fault: the connection is cut at the %s", fault)
		require.Equal(t, []string{"0 FAILED", "1 FAILED"}, list[string](t, d,
			"SELECT attempt || ' ' || status FROM rowrun.task_run WHERE root_id = $1 ORDER BY id", failed))

		// Notifications come in the order of commits: with this one all before it have come.
		marker := d.job(t, "NOOP", `{}`, columns{"queue": "nobody serves it"})
		d.exec(t, "SELECT rowrun.cancel_run($1)", marker)
		ends := heard(marker)
		retry := *d.look(t, failed).RetryRunID
		require.Equal(t, map[int64]string{done: "DONE", failed: "FAILED", retry: "FAILED", marker: "CANCELED"}, ends)
	}
}

// listenToEnds returns a function that reads notifications up to the end of the run it names: how each run ended, all its ends
// one behind the other.
func listenToEnds(t *testing.T, d *database) func(last int64) map[int64]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	_, err = conn.Exec(t.Context(), "LISTEN rowrun_task_run")
	require.NoError(t, err)
	return func(last int64) map[int64]string {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		ends := map[int64]string{}
		for ends[last] == "" {
			n, err := conn.WaitForNotification(ctx)
			require.NoError(t, err, fmt.Sprint(ends))
			var transitions []struct {
				RunID int64 `json:"run_id"`
				To    string
			}
			require.NoError(t, json.Unmarshal([]byte(n.Payload), &transitions))
			for _, tr := range transitions {
				if tr.To == "DONE" || tr.To == "FAILED" || tr.To == "CANCELED" {
					ends[tr.RunID] += tr.To
				}
			}
		}
		return ends
	}
}
