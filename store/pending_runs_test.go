package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Whatever a run waits for, with a plan, with a database and with neither: who counts the PENDING runs counts it, who lists them lists it, and a
// deployment with it isn't idle, unless only its time holds it.
func TestEveryPendingRunIsFound(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, queues, databases, concurrency)
			VALUES ('r', now(), '1 day', '{NOOP,SQL}', '{default,limited,slow}', '{db}', 1);
		INSERT INTO rowrun.concurrency_limit (name, queue, max_running) VALUES ('one', 'limited', 1);
		INSERT INTO rowrun.concurrency_limit (name, queue, rate, per) VALUES ('seldom', 'slow', 1, '1 hour');
		INSERT INTO rowrun.plan (name, paused) VALUES ('halted', true);
		INSERT INTO rowrun.task (name, type, paused) VALUES ('later', 'NOOP', false), ('paused', 'NOOP', true), ('awaited', 'NOOP', false),
			('after', 'NOOP', false);
		INSERT INTO rowrun.task (name, type, queue) VALUES ('limited', 'NOOP', 'limited'), ('slow', 'NOOP', 'slow');
		INSERT INTO rowrun.task (name, type, database_id, version) VALUES ('nobody', 'SQL', 'elsewhere', NULL), ('version 1', 'NOOP', 'db', '1'), ('version 2', 'NOOP', 'db', '2');
		INSERT INTO rowrun.task (name, type, plan_id) SELECT 'of a plan', 'NOOP', id FROM rowrun.plan;
		INSERT INTO rowrun.task (name, type, plan_id) SELECT 'dependent', 'NOOP', id FROM rowrun.plan;
		INSERT INTO rowrun.task_dependency (task_id, depends_on_id) SELECT d.id, o.id FROM rowrun.task d, rowrun.task o WHERE d.name = 'dependent' AND o.name = 'of a plan'`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) SELECT k.id, CASE k.name WHEN 'later' THEN now() + interval '1 day' END
		FROM rowrun.task k CROSS JOIN LATERAL generate_series(1, CASE WHEN k.name IN ('limited', 'slow') THEN 2 ELSE 1 END) WHERE k.name <> 'after' ORDER BY k.id`)
	exec(t, conn, `SELECT rowrun.run_task((SELECT id FROM rowrun.task WHERE name = 'after'), after => ARRAY(SELECT r.id FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE k.name = 'awaited'))`)
	promoteAll(t, conn)
	s := openStore(t, url)
	// Nothing but the runs that wait is left.
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE status = 'AVAILABLE'`)
	waiting := query[[]string](t, conn, `SELECT array_agg(coalesce(r.cause, 'RUN_AT') ORDER BY r.id) FROM rowrun.task_run r WHERE r.status = 'PENDING'`)
	require.Subset(t, waiting, []string{"RUN_AT", "PAUSED", "NO_REPLICA", "LIMIT", "DEPENDENCY", "PLAN"}, "%v", waiting)
	t.Logf("%d runs wait for %v", len(waiting), waiting)

	require.ElementsMatch(t, query[[]int64](t, conn, `SELECT array_agg(id) FROM rowrun.task_run WHERE status = 'PENDING'`),
		query[[]int64](t, conn, `SELECT array_agg(id) FROM rowrun.pending_runs()`), "each once")
	status, err := s.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, len(waiting), status.Pending)
	for _, sample := range []bool{false, true} {
		listed, err := s.ListRuns(t.Context(), store.RunFilter{Statuses: []string{"PENDING"}, Limit: 100, Sample: sample})
		require.NoError(t, err)
		require.Len(t, listed, len(waiting))
	}
	health, err := s.Health(t.Context())
	require.NoError(t, err)
	var counted int64
	for _, w := range health.Waiting {
		counted += w.Runs
	}
	require.EqualValues(t, len(waiting), counted)
	for i, id := range query[[]int64](t, conn, `SELECT array_agg(id ORDER BY id) FROM rowrun.task_run WHERE status = 'PENDING'`) {
		exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica`)
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED', finished_at = now() WHERE id <> $1 AND status = 'PENDING'`, id)
		require.Equal(t, waiting[i] == "RUN_AT", query[bool](t, conn, store.Statement("stream_idle")), "alone, %s", waiting[i])
		exec(t, conn, `ROLLBACK`)
	}
	require.Len(t, query[[]int64](t, conn, `SELECT ids FROM rowrun.find_open_runs('{}', '{PENDING}', true, 0, 1000000, 100, 100)`), len(waiting))
}
