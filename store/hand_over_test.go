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
