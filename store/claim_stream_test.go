package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// What a claim tells the stream is what a reader of the row finds, whichever statement has claimed the run; and so is what an end
// adds to that.
func TestClaimsAndEndsTellWhatTheirRowsTell(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1);
INSERT INTO rowrun.task (id, name, type, failure_log_level) VALUES (1, 'plain', 'NOOP', 'warn');
INSERT INTO rowrun.task (id, name, type, database_id, version) SELECT n, 'v' || n, 'NOOP', 'db', n::text FROM generate_series(10, 12) n;
INSERT INTO rowrun.task (id, plan_id, name, type) SELECT n, 1, 't' || n, 'NOOP' FROM generate_series(100, 102) n`)
	same := func(c *store.Claim) {
		t.Helper()
		rows, err := s.StreamRows(t.Context(), []int64{c.ID})
		require.NoError(t, err)
		require.Len(t, rows, 1)
		told := c.StreamRow()
		require.NotNil(t, told)
		want := rows[0]
		if want.FailureLogLevel == "info" { // the default, which a claim leaves out
			want.FailureLogLevel = ""
		}
		require.Equal(t, want, *told)
	}
	work := func(trip store.Trip) store.Round {
		t.Helper()
		trip.Replica, trip.Capabilities = "r", noop()
		round, err := s.Work(t.Context(), trip)
		require.NoError(t, err)
		for i := range round.Claims {
			same(&round.Claims[i])
		}
		return round
	}
	ended := func(e store.Ended) {
		t.Helper()
		rows, err := s.StreamRows(t.Context(), []int64{e.ID})
		require.NoError(t, err)
		require.Len(t, rows, 1)
		require.Equal(t, []any{e.Status, e.FinishedAt, e.Xid, "RUNNING", e.RetryRunID},
			[]any{rows[0].Status, rows[0].FinishedAt, rows[0].Xid, rows[0].Prev, rows[0].RetryRunID})
	}
	endings := func(claims []store.Claim) (all []store.Ending) {
		for _, c := range claims {
			e := store.Ending{ID: c.ID, Claim: c.Claim, Database: c.DatabaseID}
			if c.PlanID != nil {
				e.PlanTask = c.TaskID
			}
			all = append(all, e)
		}
		return all
	}

	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT 1 FROM generate_series(1, 5)`)
	one := work(store.Trip{Want: 1})
	require.Len(t, one.Claims, 1, "by claim_run")
	many := work(store.Trip{Want: 10})
	require.Len(t, many.Claims, 4, "by claim_runs")
	require.Nil(t, (&store.Claim{}).StreamRow())
	for _, e := range work(store.Trip{Endings: endings(one.Claims), LockTimeout: time.Second}).Ended {
		ended(e)
	}
	round := work(store.Trip{Endings: endings(many.Claims), LockTimeout: time.Second})
	require.Len(t, round.Ended, 4)
	for _, e := range round.Ended {
		ended(e)
	}

	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT n FROM generate_series(10, 12) n`)
	first := work(store.Trip{Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 10})
	require.Len(t, first.Claims, 1, "by promote_and_claim")
	next := work(store.Trip{Endings: endings(first.Claims), LockTimeout: time.Second, Claim: store.ClaimFresh, Want: 10})
	require.Len(t, next.Claims, 1, "by promote_next_and_claim")
	ended(next.Ended[0])

	exec(t, conn, `SELECT rowrun.run_plan(1)`)
	var plan []store.Claim
	for len(plan) == 0 {
		plan = work(store.Trip{Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 10}).Claims
	}
	filled := work(store.Trip{Endings: endings(plan), LockTimeout: time.Second, Claim: store.ClaimFresh, Want: 10})
	require.Len(t, filled.Claims, 1, "by promote_next_of_plans")
	ended(filled.Ended[0])
	failed := endings(filled.Claims)
	failed[0].Failed, failed[0].Retry = true, store.RetryNone
	ended(work(store.Trip{Endings: failed, LockTimeout: time.Second}).Ended[0])

	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('few', 'NOOP', 10)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	var limited []store.Claim
	for range 3 {
		limited = append(limited, work(store.Trip{Promote: store.PromoteDue, Want: 10}).Claims...)
	}
	require.NotEmpty(t, limited, "by claim_runs_bounded")
}
