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
	require.Zero(t, h.Stale+h.MissedSchedules+h.FailingWebhooks)

	storetest.AddStreamSlot(t, url)
	exec(t, conn, `INSERT INTO rowrun.plan DEFAULT VALUES`)
	h, err = s.Health(t.Context())
	require.NoError(t, err)
	require.NotNil(t, h.SlotLag)
	require.Positive(t, *h.SlotLag)
}

// Stale are runs of replicas that are gone, and of nobody; those of the app have no replica.
func TestHealthCountsRunsThatAreLost(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	addReplica(t, conn, "one")
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, state, worker, name) VALUES
    ('gone', now() - interval '1 hour', '30 s', '{NOOP}', 'ACTIVE', false, 'gone'),
    ('declared', now(), '30 s', '{NOOP}', 'DEAD', false, 'declared'),
    ('worker', now(), '30 s', '{MINE}', 'ACTIVE', true, 'worker'),
    ('worker came back', now() - interval '1 hour', '30 s', '{MINE}', 'DEAD', true, 'worker'),
    ('worker gone', now() - interval '1 hour', '30 s', '{MINE}', 'ACTIVE', true, 'worker gone');
INSERT INTO rowrun.task (type) VALUES ('NOOP');
SET session_replication_role = replica;
INSERT INTO rowrun.task_run (id, task_id, root_id, status, priority, creator, type, queue, sequential, replica_id, started_at)
SELECT n, k.id, n, 'RUNNING', 0, 'x', 'NOOP', 'default', false, r.id, now()
FROM rowrun.task k, unnest(ARRAY['one', 'gone', 'declared', 'worker', 'worker came back', 'worker gone', 'nobody', NULL]) WITH ORDINALITY r(id, n);
SET session_replication_role = origin`)
	h, err := s.Health(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, h.Stale, "of gone, declared, worker gone, nobody")
	require.EqualValues(t, 1, h.LiveReplicas, "a worker is none")
}

// A schedule has missed where its tick was to start over a minute ago, whether or not it has been promoted; one that is paused
// has not.
func TestHealthCountsSchedulesThatMissed(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.task (name, type, schedule, misfire, paused) VALUES
    ('soon', 'NOOP', '@hourly', 'ALL', false), ('due', 'NOOP', '@hourly', 'ALL', false), ('ready', 'NOOP', '@hourly', 'ALL', false), ('paused', 'NOOP', '@hourly', 'ALL', true)`)
	require.Equal(t, 4, query[int](t, conn, `SELECT count(*)::int FROM rowrun.task_run WHERE tick IS NOT NULL`))
	late := `UPDATE rowrun.task_run r SET tick = now() - interval '2 min', run_at = now() - interval '2 min', created_at = now() - interval '1 hour',
    judge_at = CASE WHEN judge_at IS NOT NULL THEN now() - interval '2 min' END FROM rowrun.task k WHERE k.id = r.task_id AND k.name = ANY ($1)`
	exec(t, conn, `SET session_replication_role = replica`)
	exec(t, conn, late, []string{"ready", "paused"})
	exec(t, conn, `SET session_replication_role = origin; SELECT * FROM rowrun.promote_runs(true)`)
	exec(t, conn, `SET session_replication_role = replica`)
	exec(t, conn, late, []string{"due"})
	exec(t, conn, `SET session_replication_role = origin`)
	require.Equal(t, "due PENDING, paused PENDING, ready AVAILABLE, soon PENDING", query[string](t, conn,
		`SELECT string_agg(k.name || ' ' || r.status, ', ' ORDER BY k.name) FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id`))
	h, err := s.Health(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, h.MissedSchedules)
}

// The view's columns are those of the documentation and of metrics: the values agree.
func TestHealthIsARowForWhoeverLooks(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.plan (project) VALUES ('a');
INSERT INTO rowrun.webhook (project, name, url, events) SELECT 'a', n, 'https://app.example/' || n, '{PIPELINE_FAILED}' FROM unnest('{refused,unready,due}'::text[]) n;
SET session_replication_role = replica;
INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload, created_at, attempts, unready_since)
SELECT w.id, p.id, 1, 'PIPELINE_FAILED', w.name, '{}', now() - interval '1 hour', CASE w.name WHEN 'refused' THEN 3 ELSE 0 END,
    CASE w.name WHEN 'unready' THEN now() END FROM rowrun.webhook w, rowrun.plan p;
SET session_replication_role = origin; SET ROLE rowrun_viewer`)
	require.Equal(t, "0 2 01 01 01 t", query[string](t, conn, `SELECT concat_ws(' ', live_replicas, failing_webhooks,
    to_char(delivery_due_for, 'HH24'), to_char(delivery_refused_for, 'HH24'), to_char(delivery_unready_for, 'HH24'),
    delivery_disabled_for IS NULL AND oldest_available IS NULL AND overdue_for IS NULL) FROM rowrun.health`))
	h, err := s.Health(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, h.FailingWebhooks)
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
