package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// What somebody makes work again in a transaction that is open while a cleanup looks, stays: runs of an old plan, the successor of an old run, a
// message that is delivered anew.
func TestACleanupLeavesWhatIsUsedAgainBesideIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ use, left string }{
		"a plan's new run":       {`INSERT INTO rowrun.task_run (id, task_id, run_at) VALUES (100, 1, now() + interval '1 hour')`, `SELECT count(*) = 2 FROM rowrun.task_run WHERE plan_id = 1`},
		"a plan's retry":         {`SELECT rowrun.retry_plan(1)`, `SELECT count(*) = 2 FROM rowrun.task_run WHERE plan_id = 1`},
		"a retry":                {`SELECT rowrun.retry_run(3)`, `SELECT count(*) = 2 FROM rowrun.task_run WHERE root_id = 3`},
		"a retry, own retention": {`SELECT rowrun.retry_run(4)`, `SELECT count(*) = 2 FROM rowrun.task_run WHERE root_id = 4`},
		"a message": {
			`UPDATE rowrun.webhook_delivery SET status = 'PENDING', attempts = 0, next_attempt_at = now() + interval '1 hour' WHERE id = 1`,
			`SELECT count(*) = 1 FROM rowrun.webhook_delivery WHERE status = 'PENDING'`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, other, s := connect(t, url), connect(t, url), openStore(t, url)
			exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1);
INSERT INTO rowrun.task (id, plan_id, type, retention) VALUES (1, 1, 'NOOP', NULL), (3, NULL, 'NOOP', NULL), (4, NULL, 'NOOP', '1 hour');
INSERT INTO rowrun.task_run (id, task_id) VALUES (1, 1), (3, 3), (4, 4)`)
			for _, run := range []int64{1, 3, 4} {
				finish(t, conn, run, "FAILED")
			}
			exec(t, conn, `INSERT INTO rowrun.webhook (id, url) VALUES (1, 'https://example.com');
INSERT INTO rowrun.webhook_delivery (id, webhook_id, plan_id, round, event_type, message_id, payload, status, next_attempt_at, created_at)
VALUES (1, 1, 7, 0, 'PIPELINE_FAILED', 'm', '{}', 'EXHAUSTED', NULL, now() - interval '9 days')`)
			age(t, conn)
			exec(t, conn, `UPDATE rowrun.webhook_delivery SET leased_until = NULL`)

			exec(t, other, `BEGIN`)
			exec(t, other, c.use)
			cleaned := make(chan error, 1)
			go func() {
				_, err := s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
				cleaned <- err
			}()
			var err error
			waited := true
			require.Eventually(t, func() bool {
				select {
				case err = <-cleaned:
					waited = false
					return true
				default:
					return query[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database())`)
				}
			}, 20*time.Second, 5*time.Millisecond)
			exec(t, other, `COMMIT`)
			if waited {
				err = <-cleaned
			}
			require.NoError(t, err)
			require.True(t, query[bool](t, conn, c.left), "what was used again is gone")
			require.Equal(t, 1, query[int](t, conn, `SELECT (SELECT count(*) FROM rowrun.plan) + (SELECT count(DISTINCT root_id) FROM rowrun.task_run WHERE plan_id IS NULL)
				+ (SELECT count(*) FROM rowrun.webhook_delivery)`), "all else is gone")
		})
	}
}

// A plan whose last open tasks are skipped has ended then, however old it is.
func TestAPlanThatIsCompletedBySkippingIsKeptFromThenOn(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1); INSERT INTO rowrun.task (id, plan_id, type) VALUES (1, 1, 'NOOP')`)
	age(t, conn)
	exec(t, conn, `SELECT rowrun.skip_task(1)`)
	passes(t, conn)
	require.Equal(t, "PIPELINE_COMPLETED", query[string](t, conn, `SELECT event_type FROM rowrun.webhook_delivery_log`))
	for _, plans := range []int64{0, 1} {
		gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
		require.NoError(t, err)
		require.Equal(t, plans, gone.Plans)
		age(t, conn)
	}
}

// People hold the first id of a job. It cancels the job, and others wait for it, also where retention has removed that run.
func TestTheFirstIDOfAJobIsItsOwnWhenThatRunIsGone(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1); INSERT INTO rowrun.task (id, plan_id, type) VALUES (1, 1, 'NOOP'), (2, NULL, 'NOOP')`)
	first := newRun(t, conn, 1)
	finish(t, conn, first, "FAILED")
	age(t, conn)
	last := query[int64](t, conn, `SELECT rowrun.retry_run($1)`, first)
	gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.Runs)
	require.Equal(t, []int64{last}, left(t, conn))

	waits := query[int64](t, conn, `SELECT rowrun.run_task(task => 2::bigint, after => ARRAY[$1]::bigint[])`, first)
	require.Equal(t, []int64{first}, query[[]int64](t, conn, `SELECT array_agg(root_id) FROM rowrun.run_after WHERE run_id = $1`, waits))
	require.Equal(t, "CANCELED", query[string](t, conn, `SELECT rowrun.cancel_run($1, 'enough')`, first))
	require.Equal(t, "CANCELED", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, last))
	refusedW(t, conn, "P0002", "does not exist", `SELECT rowrun.cancel_run($1)`, waits+1)
	refusedW(t, conn, "23503", "does not exist", `SELECT rowrun.run_task(task => 2::bigint, after => ARRAY[$1]::bigint[])`, waits+1)
}
