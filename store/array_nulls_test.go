package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Runs whose holder is gone are ended without their claims, beside others, also where an array's text knows no NULL; and what is
// no claim at all asks for none no more than a wrong one does.
func TestEndsWithoutAClaimNeedNoNullsInTexts(t *testing.T) {
	t.Parallel()
	for _, pooled := range []bool{false, true} {
		url := storetest.New(t)
		conn := connect(t, url)
		exec(t, conn, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET array_nulls = off', current_database()); END $$`)
		s, err := store.Open(t.Context(), store.Config{URL: url, Lease: time.Minute, Pooled: pooled})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		chains(t, conn)
		first := startChains(t, s)
		stray := func(id int64, claim string) store.Ending {
			e := first[id]
			e.Claim, e.Failed = claim, true
			return e
		}
		ended, _, err := s.EndRuns(t.Context(), []store.Ending{stray(1, ""), stray(5, first[5].Claim)}, time.Second)
		require.NoError(t, err)
		require.Len(t, ended, 2)
		ended, _, err = s.EndRuns(t.Context(), []store.Ending{stray(3, "no uuid")}, time.Second)
		require.NoError(t, err)
		require.Empty(t, ended)
		round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{stray(3, "")}, LockTimeout: time.Second})
		require.NoError(t, err)
		require.Len(t, round.Ended, 1)
	}
}
