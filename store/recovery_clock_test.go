package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A clock that is set back during a recovery leaves its moments ahead: the starts go on at their rate, the backlog is counted, the
// stream tells of it, and the recovery ends.
func TestARecoveryGoesOnBehindAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	const rate, burst = 1000.0, 20.0
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET queues = '{default}', types = '{NOOP}'`)
	exec(t, conn, `WITH k AS (INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id)
		INSERT INTO rowrun.task_run (task_id, run_at) SELECT k.id, clock_timestamp() + n * interval '1 min' FROM k, generate_series(-2, 1) n WHERE n <> 0`)
	id, err := s.BeginRecovery(t.Context(), store.Outage{Silent: time.Hour, Backlog: 2})
	require.NoError(t, err)
	exec(t, conn, `UPDATE rowrun.recovery SET began_at = now() + interval '1 h', counted_at = now() + interval '1 h', moved_at = now() + interval '1 h',
		noted_at = now() + interval '1 h', paced_until = now() + interval '1 h', rate = 7`)

	granted, wait, err := s.TakeRecoveryStarts(t.Context(), id, 5, rate, burst)
	require.NoError(t, err)
	require.Zero(t, granted, "an hour's worth is not made up for")
	require.Less(t, wait, time.Second)
	for granted == 0 {
		granted, _, err = s.TakeRecoveryStarts(t.Context(), id, 1, rate, burst)
		require.NoError(t, err)
		require.True(t, query[bool](t, conn, `SELECT paced_until <= clock_timestamp() FROM rowrun.recovery`))
	}

	every := store.Counting{Every: time.Hour, Note: time.Hour, Lease: time.Hour, Idle: true}
	open, counted, err := s.CountRecovery(t.Context(), id, 0, every)
	require.NoError(t, err)
	require.True(t, open)
	require.NotNil(t, counted, "nobody knows how long ago it was counted")
	require.EqualValues(t, 2, counted.Remaining, "what is due")
	require.InDelta(t, 7, counted.Rate, 0.001, "nor how quick that was")
	require.True(t, query[bool](t, conn, `SELECT greatest(counted_at, moved_at, noted_at) <= clock_timestamp() FROM rowrun.recovery`))
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.stream_note WHERE event = 'recovery.progress' AND (detail ->> 'took_ms')::bigint = 0`))
	_, counted, err = s.CountRecovery(t.Context(), id, 0, every)
	require.NoError(t, err)
	require.Nil(t, counted, "it was just counted")

	exec(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE run_at < now()`)
	exec(t, conn, `UPDATE rowrun.recovery SET counted_at = now() + interval '1 h'`)
	open, counted, err = s.CountRecovery(t.Context(), id, 0, every)
	require.NoError(t, err)
	require.NotNil(t, counted)
	require.False(t, open, "its backlog is gone")
}
