package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A replica that has noticed its drain stops: who resumes it is told so, and others of its name are resumed.
func TestADrainThatWasNoticedIsNotTakenBack(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, name, last_heartbeat) VALUES ('one', 'worker', now()), ('two', 'worker', now())`)
	_, err := s.AskDrain(t.Context(), "worker")
	require.NoError(t, err)
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET state = 'DRAINING' WHERE replica_id = 'one'`)

	resumed, err := s.PauseReplica(t.Context(), "worker", false)
	require.NoError(t, err)
	require.Equal(t, []string{"two"}, resumed)
	_, err = s.PauseReplica(t.Context(), "one", false)
	require.Equal(t, "RR004", store.SQLState(err))
	require.ErrorContains(t, err, `replica "one" is draining, and stops when its runs have ended`)
	require.Equal(t, []string{"one"}, query[[]string](t, conn,
		`SELECT array_agg(replica_id) FROM rowrun.replica_heartbeat WHERE paused_at IS NOT NULL AND drain_requested_at IS NOT NULL`))
}
