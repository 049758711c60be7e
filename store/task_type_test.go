package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestOrphansAreRunsThatNoLiveReplicaCouldRun(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, databases, commands)
		VALUES ('r', clock_timestamp(), '1 hour', '{NOOP,SQL,COMMAND}', '{orders}', '{report}');
		INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, queues)
		VALUES ('silent', clock_timestamp() - interval '1 hour', '1 s', '{OLD}', '{default,other}')`)
	exec(t, conn, `INSERT INTO rowrun.task (type, queue, database_id, payload) VALUES ('NOOP', 'default', NULL, '{}'), ('NOOP', 'other', NULL, '{}'),
		('OLD', 'default', NULL, '{}'), ('SQL', 'default', 'orders', '{}'), ('SQL', 'default', 'users', '{}'),
		('COMMAND', 'default', NULL, '{"command": "report"}'), ('COMMAND', 'default', NULL, '{"command": "gone"}'), ('NOOP', 'default', 'users', '{}');
		INSERT INTO rowrun.task_run (task_id, run_at) SELECT id, '2100-01-01' FROM rowrun.task;
		INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE type = 'OLD';
		SELECT rowrun.promote_runs(true)`)
	require.Equal(t, []string{"default/COMMAND/-/gone 1 0", "default/OLD/-/- 1 1", "default/SQL/users/- 1 0", "other/NOOP/-/- 1 0"},
		all[string](t, conn, `SELECT concat_ws('/', queue, type, coalesce(database_id, '-'), coalesce(command, '-')) || concat(' ', pending, ' ', available)
		FROM rowrun.orphan_task_run ORDER BY 1`))
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = clock_timestamp(), lease = '1 hour'`)
	require.Equal(t, 3, query[int](t, conn, `SELECT count(*) FROM rowrun.orphan_task_run`), "it is back, but runs no NOOP")
}

// What the stream is told: once a type has been orphaned for a while, again after a day, and when it isn't any more.
func TestOrphansAreNotedAtTheChangeAndDaily(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'OLD'), (2, 'NOOP'); INSERT INTO rowrun.task_run (task_id) VALUES (1), (1), (2);
		INSERT INTO rowrun.task_run (task_id, run_at) VALUES (1, '2100-01-01')`)
	addReplica(t, conn, "r")
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	look := func(want int) {
		t.Helper()
		n, err := s.NoteOrphans(t.Context(), time.Minute, 0)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	look(0)
	code, _ := refused(t, conn, `UPDATE rowrun.orphan_type SET pending = 9223372036854775807`)
	require.Equal(t, "23514", code, "more than can be added up")
	exec(t, conn, `UPDATE rowrun.orphan_type SET first_seen = first_seen - interval '2 minutes'`)
	look(1)
	look(0)
	require.Equal(t, []string{`{"type": "OLD", "pending": 1, "available": 2}`}, all[string](t, conn, `SELECT (detail - 'since')::text FROM rowrun.stream_note`))
	exec(t, conn, `UPDATE rowrun.orphan_type SET announced_at = announced_at - interval '25 hours'`)
	look(1)
	h, err := s.Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, [2]int64{1, 3}, [2]int64{h.OrphanTypes, h.Orphans})

	exec(t, conn, `BEGIN; SELECT FROM rowrun.deployment FOR UPDATE`)
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET types = '{NOOP,OLD}'`)
	look(0) // somebody else is at it
	exec(t, conn, `COMMIT`)
	look(1)
	require.Equal(t, []string{"task_type.orphaned", "task_type.orphaned", "task_type.served"}, all[string](t, conn, `SELECT event FROM rowrun.stream_note ORDER BY id`))
	require.Equal(t, 4, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run`), "nothing was deleted")
	exec(t, conn, `UPDATE rowrun.stream_note SET created_at = created_at - interval '8 days'`)
	n, err := s.RemoveOldNotes(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
}

// A backlog of another type doesn't hide an orphan.
func TestOrphanBehindABacklogIsFound(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP'), (2, 'ZZZ');
		INSERT INTO rowrun.task_run (task_id) SELECT 1 FROM generate_series(1, 3000); INSERT INTO rowrun.task_run (task_id) VALUES (2);
		UPDATE rowrun.task_run SET status = 'AVAILABLE'`)
	n, err := s.NoteOrphans(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Zero(t, n, "two looks are needed")
	n, err = s.NoteOrphans(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	exec(t, conn, `DELETE FROM rowrun.orphan_type`)
	n, err = s.NoteOrphans(t.Context(), 0, time.Hour)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.orphan_type`), "somebody has looked within the hour")
	_, err = s.NoteOrphans(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, "ZZZ", query[string](t, conn, `SELECT type FROM rowrun.orphan_type`))
}

// Where as many wait as a look reads, what may stand behind them is not taken for served.
func TestAnOrphanBehindAFullLookStaysOne(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, commands) VALUES ('r', clock_timestamp(), '1 hour', '{COMMAND}', '{report}')`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, payload) VALUES (1, 'COMMAND', '{"command": "report"}'), (2, 'COMMAND', '{"command": "gone"}'), (3, 'AAA', '{}'), (4, 'ZZZ', '{}')`)
	look := func(want ...string) {
		t.Helper()
		exec(t, conn, `DELETE FROM rowrun.stream_note`)
		_, err := s.NoteOrphans(t.Context(), 0, 0)
		require.NoError(t, err)
		require.ElementsMatch(t, want, all[string](t, conn, `SELECT concat_ws(' ', event, detail ->> 'type') FROM rowrun.stream_note`))
	}
	waits := func(task int64, n int, status string, cause any) {
		t.Helper()
		exec(t, conn, `SET session_replication_role = replica`)
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id, root_id, status, cause, priority, creator, type, queue, sequential)
			SELECT k.id, n, $3, $4::text, 10 - k.id, 'x', k.type, 'default', false FROM rowrun.task k, generate_series(1, $2::int) n WHERE k.id = $1`, task, n, status, cause)
		exec(t, conn, `SET session_replication_role = origin`)
	}
	waits(2, 3, "AVAILABLE", nil)
	waits(4, 1, "PENDING", "NO_REPLICA")
	look()
	look("task_type.orphaned COMMAND", "task_type.orphaned ZZZ")
	waits(1, 600, "AVAILABLE", nil)
	waits(3, 2000, "PENDING", "NO_REPLICA")
	look()
	look("task_type.orphaned AAA")
	require.Equal(t, []string{"AAA", "COMMAND", "ZZZ"}, all[string](t, conn, `SELECT type FROM rowrun.orphan_type ORDER BY 1`))
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE task_id IN (1, 3)`)
	look("task_type.served AAA")
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE status IN ('PENDING', 'AVAILABLE')`)
	look("task_type.served COMMAND", "task_type.served ZZZ")
}

func TestPurgeCancelsWhatWaitsAndRemovesNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1);
		INSERT INTO rowrun.task (id, plan_id, type, on_stale) VALUES (1, NULL, 'OLD', 'FAIL'), (2, NULL, 'NOOP', 'FAIL'), (3, 1, 'OLD', 'FAIL')`)
	running := started(t, conn, 1)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT 1 FROM generate_series(1, 1200);
		INSERT INTO rowrun.task_run (task_id) VALUES (2), (3); UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id % 2 = 0 AND status = 'PENDING'`)
	n, err := s.PurgeType(t.Context(), "OLD", time.Hour)
	require.NoError(t, err)
	require.Zero(t, n, "all are younger")
	n, err = s.CountPurge(t.Context(), "OLD", 0)
	require.NoError(t, err)
	require.EqualValues(t, 1201, n)
	n, err = s.PurgeType(t.Context(), "OLD", 0)
	require.NoError(t, err)
	require.EqualValues(t, 1201, n)
	require.Equal(t, 1203, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run`))
	require.Equal(t, []string{"NOOP", "OLD"}, all[string](t, conn, `SELECT type FROM rowrun.task_run WHERE status <> 'CANCELED' ORDER BY type`))
	require.Equal(t, "RUNNING", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, running))
	require.Equal(t, "CANCELED", query[string](t, conn, `SELECT status FROM rowrun.plan_status`))
}

// A tick that is canceled inserts the next one of its schedule: a purge leaves those alone, or it would never end.
func TestPurgeCancelsOneTickOfEachSchedule(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	const tasks = 1200 // several batches
	exec(t, conn, `INSERT INTO rowrun.task (type, schedule) SELECT 'OLD', '@every 1h' FROM generate_series(1, $1)`, tasks)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n, err := s.PurgeType(ctx, "OLD", 0)
	require.NoError(t, err)
	require.EqualValues(t, tasks, n)
	require.Equal(t, map[string]int{"CANCELED": tasks, "PENDING": tasks}, statusCounts(t, conn))
}

func TestAliasOfAPrivilegedTypeIsRefused(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := openStore(t, url)
	for _, pair := range [][2]string{{"OLD", "SQL"}, {"SQL", "NEW"}, {"OLD", "COMMAND"}, {"OLD", "DATABASE_MIGRATE"}, {"OLD", "OLD"}} {
		require.Equal(t, "23514", store.SQLState(s.AliasType(t.Context(), pair[0], pair[1], nil)), pair)
	}
	require.NoError(t, s.AliasType(t.Context(), "OLD", "HTTP", []byte(`{"a": "b"}`)))
	conn := connect(t, url)
	exec(t, conn, `SET ROLE rowrun_author`)
	_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task_type (type, draining) VALUES ('NOOP', true)`)
	require.Equal(t, "42501", store.SQLState(err), "for operators")
}
