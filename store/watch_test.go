package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Whoever executes a run under another claim than that of its row has lost it, whatever the ids say.
func TestAWatchedRunIsThatOfItsClaim(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `WITH k AS (INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id) INSERT INTO rowrun.task_run (task_id) SELECT id FROM k`)
	round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 1})
	require.NoError(t, err)
	require.Len(t, round.Claims, 1)
	own := store.Watched{ID: round.Claims[0].ID, Claim: round.Claims[0].Claim}
	earlier := store.Watched{ID: own.ID, Claim: requestID("1")}
	held, err := s.Watch(t.Context(), "r", []store.Watched{earlier, own, {ID: own.ID + 1, Claim: requestID("2")}})
	require.NoError(t, err)
	require.Len(t, held, 2, "one is not there")
	require.Equal(t, earlier, held[0].Watched)
	require.True(t, held[0].Lost)
	require.Equal(t, own, held[1].Watched)
	require.False(t, held[1].Lost)
	held, err = s.Watch(t.Context(), "another", []store.Watched{own})
	require.NoError(t, err)
	require.True(t, held[0].Lost)
}
