package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A function in SQL that doesn't become part of the statement that calls it is planned again in each such statement, for some hundred µs: none is
// called by trips, nor by what a replica asks while nothing happens.
// The server counts the calls of those alone.
func TestTripsPlanNoFunction(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET track_functions = ''all''', current_database()); END $$`)
	conn = connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET concurrency = 10, queues = '{default,few,fair,slow}', databases = '{db}'`)
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, queue, key_path, max_running, rate, per, share) VALUES
		('all', 'few', NULL, 3, NULL, NULL, 'NONE'), ('rate', 'slow', NULL, NULL, 100, '1 s', 'NONE'), ('turns', 'fair', '{x}', NULL, NULL, NULL, 'FAIR')`)
	exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 2), (2, NULL)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, name, type, plan_id, database_id, version, sequential, queue) VALUES
		(1, 'ungated', 'NOOP', NULL, NULL, NULL, false, 'default'), (2, 'few', 'NOOP', NULL, NULL, NULL, false, 'few'),
		(3, 'fair', 'NOOP', NULL, NULL, NULL, false, 'fair'), (4, 'slow', 'NOOP', NULL, NULL, NULL, false, 'slow'),
		(5, 'of a plan', 'NOOP', 1, NULL, NULL, false, 'default'), (6, 'too', 'NOOP', 1, NULL, NULL, false, 'default'), (7, 'the third', 'NOOP', 1, NULL, NULL, false, 'few'),
		(8, 'first', 'NOOP', 2, NULL, NULL, false, 'default'), (9, 'second', 'NOOP', 2, NULL, NULL, false, 'fair'),
		(10, 'one', 'NOOP', NULL, 'db', '1', true, 'default'), (11, 'two', 'NOOP', NULL, 'db', '2', false, 'default'),
		(12, 'beside', 'NOOP', NULL, 'db', '2', false, 'fair'), (13, 'unversioned', 'NOOP', NULL, 'db', NULL, true, 'slow'),
		(14, 'three', 'NOOP', 2, 'db', '3', false, 'default'), (15, 'four', 'NOOP', 2, 'db', '3.1', true, 'default')`)
	exec(t, conn, `INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES (9, 8)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT t.id, jsonb_build_object('x', n) FROM rowrun.task t CROSS JOIN generate_series(1, CASE WHEN t.plan_id IS NULL THEN 5 ELSE 1 END) n`)
	exec(t, conn, `SELECT pg_stat_force_next_flush()`)
	exec(t, conn, `SELECT pg_stat_reset()`)
	s := open(t, url, time.Minute)
	c := store.Capabilities{Queues: []string{"default", "few", "fair", "slow"}, Types: []string{"NOOP"}, Databases: []string{"db"}}
	var running []store.Claim
	for n := 0; query[bool](t, conn, `SELECT EXISTS (SELECT FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING'))`); n++ {
		require.Less(t, n, 1000, "runs are left: %s", query[string](t, conn, `SELECT string_agg(concat_ws('/', task_id, status, cause, limit_wait, judge_at > now()), ' ') FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING')`))
		trip := store.Trip{Replica: "r", Capabilities: c, Promote: store.PromoteDue, Want: 4, Claim: []store.Claiming{store.ClaimAny, store.ClaimFresh, store.ClaimAnyAndFresh}[n%3]}
		if n%10 == 9 {
			trip.Promote = store.PromoteSweep
		}
		lookAround(t, s, c, store.SurveyDepth(n%3))
		for _, r := range running[:len(running)/2] {
			e := store.Ending{ID: r.ID, Claim: r.Claim, Database: r.DatabaseID}
			if r.PlanID != nil {
				e.PlanTask = r.TaskID
			}
			trip.Endings = append(trip.Endings, e)
		}
		running = running[len(running)/2:]
		round, err := s.Work(t.Context(), trip)
		require.NoError(t, err)
		require.Empty(t, round.Left)
		running = append(running, round.Claims...)
		endClaims(t, s, running[len(running)/2:])
		running = running[:len(running)/2]
	}
	// A session tells what it has counted when it ends, or has been idle for ten seconds.
	exec(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	require.Eventually(t, func() bool {
		return query[int](t, conn, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`) == 0
	}, time.Minute, 100*time.Millisecond, "sessions go on")
	counted := func(language string) string {
		return fmt.Sprintf(`SELECT coalesce(string_agg(p.proname, ' ' ORDER BY p.proname), '') FROM pg_stat_user_functions s JOIN pg_proc p ON p.oid = s.funcid
			JOIN pg_language l ON l.oid = p.prolang WHERE s.schemaname = 'rowrun' AND s.calls > 0 AND l.lanname = '%s'`, language)
	}
	require.Contains(t, query[string](t, conn, counted("plpgsql")), "promote_runs", "nothing is counted: nothing is tested")
	require.Empty(t, query[string](t, conn, counted("sql")))
}

// lookAround asks what a replica asks again and again while nothing happens.
func lookAround(t *testing.T, s *store.Store, c store.Capabilities, depth store.SurveyDepth) {
	t.Helper()
	require.NoError(t, s.Heartbeat(t.Context(), "r", 0))
	_, err := s.Survey(t.Context(), "r", c, depth)
	require.NoError(t, err)
	_, _, err = s.ClaimDeliveries(t.Context(), store.DeliveryWants{Most: 10, PerWebhook: 10, Lease: time.Minute})
	require.NoError(t, err)
	_, err = s.DeadReplicas(t.Context(), time.Minute)
	require.NoError(t, err)
}
