package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestHealthTellsWhatWaitsAndForHowLong(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	empty, err := s.Health(t.Context())
	require.NoError(t, err)
	require.Less(t, empty.NotifyQueue, 0.5)
	empty.NotifyQueue = 0 // the server's, on which other tests notify
	require.Equal(t, store.Health{OldestDelivery: map[string]time.Duration{"disabled": 0, "due": 0, "refused": 0, "unready": 0}}, empty)

	addReplica(t, conn, "one")
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types) VALUES ('gone', now() - interval '1 hour', '30 s', '{NOOP}');
INSERT INTO rowrun.task (name, type, paused) VALUES ('free', 'NOOP', false), ('mine', 'MINE', false), ('paused', 'NOOP', true);
INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task ORDER BY id;
SELECT * FROM rowrun.promote_runs(true);
INSERT INTO rowrun.task_run (task_id, run_at) SELECT id, now() + interval '1 hour' FROM rowrun.task WHERE name = 'free';
SET session_replication_role = replica;
UPDATE rowrun.task_run SET created_at = now() - interval '1 minute', run_at = now() - interval '1 minute',
    judge_at = CASE WHEN judge_at IS NOT NULL THEN now() - interval '1 minute' END WHERE status = 'PENDING';
INSERT INTO rowrun.task_run (id, task_id, root_id, status, priority, creator, type, queue, sequential, judge_at, database_id)
SELECT 1000, id, 1000, 'PENDING', 0, 'x', 'NOOP', 'default', false, now() - interval '30 s', 'orders' FROM rowrun.task WHERE name = 'free';
UPDATE rowrun.task_run SET available_at = now() - interval '1 hour' WHERE type = 'MINE';
SET session_replication_role = origin`)
	h, err := s.Health(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []store.WaitingRuns{
		{Status: "AVAILABLE", Type: "NOOP", Runs: 1}, {Status: "AVAILABLE", Type: "MINE", Runs: 1}, {Status: "PENDING", Type: "NOOP", Runs: 3},
	}, h.Waiting)
	require.InDelta(t, time.Hour.Seconds(), h.OldestAvailable.Seconds(), 60)
	require.EqualValues(t, 2, h.Overdue)
	require.InDelta(t, time.Minute.Seconds(), h.OverdueFor.Seconds(), 30)
	require.EqualValues(t, 1, h.LiveReplicas)
	require.Nil(t, h.SlotLag)

	exec(t, conn, `SELECT pg_create_logical_replication_slot('rowrun_stream_' || left(id::text, 8), 'pgoutput') FROM rowrun.deployment`)
	exec(t, conn, `INSERT INTO rowrun.plan DEFAULT VALUES`)
	h, err = s.Health(t.Context())
	require.NoError(t, err)
	require.NotNil(t, h.SlotLag)
	require.Positive(t, *h.SlotLag)
}

// However many runs wait, only so many are read.
func TestHealthStopsCounting(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.task (name, type) VALUES ('a', 'NOOP');
SET session_replication_role = replica;
INSERT INTO rowrun.task_run (id, task_id, root_id, status, priority, creator, type, queue, sequential, available_at, judge_at)
SELECT n, t.id, n, s.status, 0, 'x', 'NOOP', 'default', false, now(), CASE WHEN s.status = 'PENDING' THEN now() - interval '1 hour' END
FROM rowrun.task t, generate_series(1, 24000) n, LATERAL (SELECT CASE WHEN n % 2 = 0 THEN 'PENDING' ELSE 'AVAILABLE' END AS status) s;
SET session_replication_role = origin; ANALYZE rowrun.task_run`)
	h, err := s.Health(t.Context())
	require.NoError(t, err)
	require.Len(t, h.Waiting, 2)
	for _, w := range h.Waiting {
		require.EqualValues(t, store.MaxWaitingCount, w.Runs, w.Status)
	}
	require.EqualValues(t, store.MaxWaitingCount, h.Overdue)
}

func TestStartDelaysCountFromInsertOrRunAt(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.task (name, type) VALUES ('a', 'NOOP');
INSERT INTO rowrun.task_run (id, task_id) SELECT n, id FROM rowrun.task, generate_series(1, 3) n;
SET session_replication_role = replica;
UPDATE rowrun.task_run SET created_at = now() - interval '1 hour', run_at = now() - interval '1 hour', started_at = now() - interval '1 hour' + interval '2 s' WHERE id = 1;
UPDATE rowrun.task_run SET created_at = now() - interval '1 hour', run_at = now() - interval '3 s', started_at = now() WHERE id = 2;
SET session_replication_role = origin`)
	delays, err := s.StartDelays(t.Context(), []int64{1, 2, 3, 99})
	require.NoError(t, err)
	require.ElementsMatch(t, []time.Duration{2 * time.Second, 3 * time.Second}, delays)
}

func TestWritableNamesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	require.NoError(t, openStore(t, url).Writable(t.Context()))
	conn := connect(t, url)
	exec(t, conn, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
	require.ErrorIs(t, openStore(t, url).Writable(t.Context()), store.ErrReadOnly)
}

func TestPoolStatsAddUpAReplicasPools(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{URL: storetest.New(t), MaxConns: 8, Lease: time.Minute})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	conn, err := s.Pool().Acquire(t.Context())
	require.NoError(t, err)
	stats := s.PoolStats()
	conn.Release()
	require.EqualValues(t, 8, stats.Max)
	require.EqualValues(t, 1, stats.Used)
	require.Positive(t, stats.Open)
}
