package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// The end of a run of a schedule makes the next by the task, and so does a cancel: both lock the task before the run.
func TestAnEndAndACancelOfAScheduledRunWaitForEachOther(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, watch := connect(t, url), connect(t, url)
	addReplica(t, conn, "r")
	id := recur(t, conn, "", "SKIP", "SKIP")
	run := begin(t, conn, id, 9, 9, 9)

	exec(t, conn, `BEGIN`)
	exec(t, conn, `SELECT FROM rowrun.task WHERE id = $1 FOR NO KEY UPDATE`, id)
	var answers []chan error
	for _, call := range []string{`SELECT rowrun.cancel_run($1, 'no more')`, `SELECT rowrun.abandon_run($1, 'gone')`} {
		caller, answer := connect(t, url), make(chan error, 1)
		answers = append(answers, answer)
		go func() {
			_, err := caller.Exec(context.WithoutCancel(t.Context()), call, run)
			answer <- err
		}()
		require.Eventually(t, func() bool {
			return query[bool](t, watch, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock')`, int64(caller.PgConn().PID()))
		}, 20*time.Second, 5*time.Millisecond)
	}
	exec(t, watch, `SELECT FROM rowrun.task_run WHERE id = $1 FOR UPDATE NOWAIT`, run) // nobody who waits for the task holds it
	exec(t, conn, `COMMIT`)
	for _, answer := range answers {
		require.NoError(t, <-answer)
	}
	require.Equal(t, "Task run canceled: no more (ABANDONED: Task run abandoned: gone)",
		query[string](t, conn, `SELECT result ->> 'detail' FROM rowrun.task_run WHERE id = $1 AND status = 'CANCELED'`, run))
}

// A state is kept in the task, also of a run beside the schedule.
func TestAnEndThatKeepsAStateHoldsNoRunWhileItWaitsForTheTask(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, watch, caller := connect(t, url), connect(t, url), connect(t, url)
	addReplica(t, conn, "r")
	id := recur(t, conn, "", "SKIP", "SKIP")
	run := began(t, conn, id)
	exec(t, conn, `BEGIN`)
	exec(t, conn, `SELECT FROM rowrun.task WHERE id = $1 FOR NO KEY UPDATE`, id)
	done := make(chan error, 1)
	go func() {
		_, err := caller.Exec(context.WithoutCancel(t.Context()), `SELECT FROM rowrun.end_runs(ARRAY[$1::bigint], ARRAY[NULL::uuid], '{DONE}',
			ARRAY['{"state": 7}'::jsonb], '{NONE}', '{}')`, run)
		done <- err
	}()
	require.Eventually(t, func() bool {
		return query[bool](t, watch, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock')`, int64(caller.PgConn().PID()))
	}, 20*time.Second, 5*time.Millisecond)
	exec(t, watch, `SELECT FROM rowrun.task_run WHERE id = $1 FOR UPDATE NOWAIT`, run)
	exec(t, conn, `COMMIT`)
	require.NoError(t, <-done)
	require.Equal(t, 7, query[int](t, conn, `SELECT state::int FROM rowrun.task WHERE id = $1`, id))
}

// A schedule that is switched off starts nothing more, and a retry would be a start.
func TestASwitchedOffScheduleCancelsARetryThatWaits(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	for _, off := range []string{`schedule = '-'`, `schedule = NULL`, `skipped = true`} {
		id := recur(t, conn, off, "SKIP", "SKIP")
		exec(t, conn, `UPDATE rowrun.task SET max_attempts = 2, retry_delay = '1 hour' WHERE id = $1`, id)
		ended, _, err := s.EndRuns(t.Context(), []store.Ending{{ID: begin(t, conn, id, 9, 9, 9), Failed: true, Retry: store.RetryFailure}}, 0)
		require.NoError(t, err)
		require.NotNil(t, ended[0].RetryRunID)
		exec(t, conn, `UPDATE rowrun.task SET misfire = 'ALL' WHERE id = $1`, id)
		require.Equal(t, "PENDING", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, *ended[0].RetryRunID), "another change leaves it")
		exec(t, conn, `UPDATE rowrun.task SET `+off+` WHERE id = $1`, id)
		require.Equal(t, "CANCELED", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, *ended[0].RetryRunID), off)
		require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE task_id = $1 AND status = 'PENDING'`, id), off)
	}
}
