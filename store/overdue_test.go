package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Of two sweeps that find a stalled run one ends it, and that one alone tells of it.
func TestAStalledRunIsToldOfOnce(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, first, second := connect(t, url), openStore(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	stalls := func() { // a millisecond is longer than the way here may be
		require.Eventually(t, func() bool {
			return query[bool](t, conn, `SELECT bool_and(started_at + interval '1 ms' < clock_timestamp()) FROM rowrun.task_run WHERE status = 'RUNNING'`)
		}, 10*time.Second, time.Millisecond)
	}
	exec(t, conn, `WITH k AS (INSERT INTO rowrun.task (type, progress_timeout) VALUES ('NOOP', '1 ms') RETURNING id) INSERT INTO rowrun.task_run (task_id) SELECT id FROM k`)
	round, err := first.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 1})
	require.NoError(t, err)
	require.Len(t, round.Claims, 1)
	handed, err := first.HandOver(t.Context(), round.Claims[0].ID, round.Claims[0].Claim)
	require.NoError(t, err)
	require.True(t, handed)
	stalls()

	// Both have found it when the lock goes; a third, which ends it, has come before them.
	exec(t, conn, `BEGIN; LOCK TABLE rowrun.plan`)
	found := make(chan error, 2)
	for _, s := range []*store.Store{first, second} {
		go func() {
			_, err := s.EndOverdue(t.Context(), store.Contact{For: time.Hour})
			found <- err
		}()
	}
	require.Eventually(t, func() bool {
		return query[int](t, conn, `SELECT count(*) FROM pg_locks WHERE relation = 'rowrun.plan'::regclass AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) == 2
	}, 30*time.Second, 5*time.Millisecond)
	exec(t, conn, `SELECT rowrun.end_runs(ARRAY[$1::bigint], ARRAY[NULL::uuid], ARRAY['FAILED'], ARRAY['{"code": "PROGRESS_TIMEOUT"}'::jsonb], ARRAY['NONE'])`, round.Claims[0].ID)
	exec(t, conn, `COMMIT`)
	require.NoError(t, <-found)
	require.NoError(t, <-found)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.stream_note WHERE event = 'task_run.stalled'`))

	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task`)
	round, err = first.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 1})
	require.NoError(t, err)
	require.Len(t, round.Claims, 1)
	handed, err = first.HandOver(t.Context(), round.Claims[0].ID, round.Claims[0].Claim)
	require.NoError(t, err)
	require.True(t, handed)
	stalls()
	ended, err := second.EndOverdue(t.Context(), store.Contact{For: time.Hour})
	require.NoError(t, err)
	require.Len(t, ended, 1)
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.stream_note WHERE event = 'task_run.stalled'`))
}
