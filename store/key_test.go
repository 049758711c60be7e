package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Each run has a claim of its own, whose hash stands in its row, also where a pass promoted runs that it could not claim.
func TestEachRunHasAClaimOfItsOwn(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	addReplica(t, conn, "r")
	s := open(t, url, time.Minute)
	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'EMAIL'), (2, 'NOOP')`)
	owner := map[string]int64{}
	for range 3 {
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) SELECT 1 + n % 2, clock_timestamp() + interval '100 ms' FROM generate_series(1, 8) n; SELECT pg_sleep(0.15)`)
		pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 20})
		require.NoError(t, err)
		require.Equal(t, 8, pass.Promoted)
		require.Len(t, pass.Claims, 4)
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT 2 FROM generate_series(1, 4) n`)
		searched, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 20})
		require.NoError(t, err)
		require.Len(t, searched.Claims, 4)
		for _, c := range append(pass.Claims, searched.Claims...) {
			require.NotContains(t, owner, c.Claim, "a claim was handed out twice")
			owner[c.Claim] = c.ID
			require.True(t, query[bool](t, conn, `SELECT claim_hash = sha256(uuid_send($2::uuid)) FROM rowrun.task_run WHERE id = $1`, c.ID, c.Claim))
		}
	}
	require.Len(t, owner, 24)
}

// The claims of a pass whose answer was lost are never handed out: a run may have them.
func TestClaimsOfALostPassAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	addReplica(t, conn, "r")
	s := open(t, url, time.Minute)
	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP')`)
	_, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 5})
	require.NoError(t, err)
	require.Equal(t, 5, s.SpareKeys())

	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	exec(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	_, err = s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 5})
	require.Error(t, err, "the connection was to be lost")
	require.Zero(t, s.SpareKeys())
}
