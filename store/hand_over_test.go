package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A row that a user holds is not waited for: the caller has others to write.
func TestAHandOverDoesntWaitForAUsersLock(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `WITH k AS (INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id) INSERT INTO rowrun.task_run (task_id) SELECT id FROM k`)
	round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 1})
	require.NoError(t, err)
	require.Len(t, round.Claims, 1)
	c := round.Claims[0]

	exec(t, conn, `BEGIN; SELECT FROM rowrun.task_run FOR UPDATE`)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = s.HandOver(ctx, c.ID, c.Claim)
	require.Equal(t, "55P03", store.SQLState(err))
	exec(t, conn, `ROLLBACK`)
	handed, err := s.HandOver(t.Context(), c.ID, c.Claim)
	require.NoError(t, err)
	require.True(t, handed)
	exec(t, conn, `SELECT rowrun.cancel_run($1, 'enough')`, c.ID)
	handed, err = s.HandOver(t.Context(), c.ID, c.Claim)
	require.NoError(t, err)
	require.False(t, handed, "a cancel came first")
}

// What the app has takes no slot of a FAIR limit: the pass that follows gives the next turns, without a sweep.
func TestAHandOverGivesTheNextTurn(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, fairLimit, []string{"r"}, 2, nil)
	w.insert("a", 3)
	w.insert("b", 3)
	require.Len(t, w.turn(0, 0), 2)
	for _, c := range w.running {
		handed, err := w.s.HandOver(t.Context(), c.ID, c.Claim)
		require.NoError(t, err)
		require.True(t, handed)
	}
	w.running = nil
	require.Len(t, w.turn(0, 0), 2)
}

// A sweep that has found the runs of a dead replica leaves to the app what that takes over before the sweep has locked it.
func TestASweepLeavesToTheAppWhatItTakesOverMeanwhile(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, by, s := connect(t, url), connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `WITH k AS (INSERT INTO rowrun.task (type, on_stale) VALUES ('NOOP', 'RETRY') RETURNING id) INSERT INTO rowrun.task_run (task_id) SELECT id FROM k, generate_series(1, 2)`)
	round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 2})
	require.NoError(t, err)
	require.Len(t, round.Claims, 2)
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = now() - interval '2 hours'`)

	exec(t, conn, `BEGIN; LOCK TABLE rowrun.plan`) // behind which the sweep locks plans, having found the runs
	type swept struct {
		ended []store.Ended
		err   error
	}
	sweep := make(chan swept, 1)
	go func() {
		ended, err := s.EndDeadReplica(t.Context(), "r")
		sweep <- swept{ended, err}
	}()
	require.Eventually(t, func() bool {
		return query[bool](t, by, `SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'rowrun.plan'::regclass AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`)
	}, 10*time.Second, time.Millisecond, "the fault: the sweep waits")
	taken := round.Claims[0]
	handed, err := s.HandOver(t.Context(), taken.ID, taken.Claim)
	require.NoError(t, err)
	require.True(t, handed)
	exec(t, conn, `COMMIT`)
	was := <-sweep
	if store.SQLState(was.err) == "55P03" { // a machine that stood still for the second that it waits
		was.ended, was.err = s.EndDeadReplica(t.Context(), "r")
	}
	require.NoError(t, was.err)
	require.Len(t, was.ended, 1)
	require.Equal(t, round.Claims[1].ID, was.ended[0].ID)
	require.Equal(t, "RUNNING", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1 AND replica_id IS NULL`, taken.ID))
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE retry_of IS NOT NULL`))
}
