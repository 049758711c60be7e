package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// Who waits on a database behind a sequential run goes on when the plan of that run gives its last slot to another one, also in
// the pass that looks at both.
func TestNobodyWaitsBehindARunWhoseSlotAnotherTook(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type, database_id, sequential, priority) VALUES
		(1, 1, 'NOOP', NULL, false, 0), (2, 1, 'NOOP', 'b', false, 1), (3, 1, 'NOOP', 'a', true, 0), (4, NULL, 'NOOP', 'a', false, 0)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	promoteAll(t, conn)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (2), (3)`)
	promoteAll(t, conn)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'DONE' WHERE task_id = 1`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (4)`)
	promoteAll(t, conn)
	require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE task_id = 2`), "it took the slot")
	require.Equal(t, "PLAN", query[string](t, conn, `SELECT cause FROM rowrun.task_run WHERE task_id = 3`))
	require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE task_id = 4`))
}

// So does who waits behind a run that its database held, when the last slot went.
func TestNobodyWaitsBehindARunOfABusyDatabaseWhoseSlotAnotherTook(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type, database_id, sequential) VALUES
		(1, NULL, 'NOOP', 'a', false), (2, 1, 'NOOP', NULL, false), (3, 1, 'NOOP', 'a', true)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	promoteAll(t, conn)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (3)`)
	promoteAll(t, conn)
	require.Equal(t, "DATABASE", query[string](t, conn, `SELECT cause FROM rowrun.task_run WHERE task_id = 3`))
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (2), (1)`)
	promoteAll(t, conn)
	require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE task_id = 2`), "it took the slot")
	require.Equal(t, "PLAN", query[string](t, conn, `SELECT cause FROM rowrun.task_run WHERE task_id = 3`))
	require.Equal(t, []string{"AVAILABLE", "RUNNING"}, query[[]string](t, conn, `SELECT array_agg(status ORDER BY status) FROM rowrun.task_run WHERE task_id = 1`))
}

// A sequential run that its database holds lets others go when its plan is held, also where its task was DONE before.
func TestNobodyWaitsBehindAHeldRunOfATaskThatWasDone(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]string{
		"paused": `UPDATE rowrun.plan SET paused = true`,
		"failed": `SELECT count(*) FROM rowrun.end_runs(ARRAY(SELECT id FROM rowrun.task_run WHERE task_id = 2), '{NULL}', '{FAILED}', ARRAY['{}'::jsonb], '{FAILURE}')`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			addReplica(t, conn, "r")
			exec(t, conn, `INSERT INTO rowrun.plan (id, on_failure) VALUES (1, 'STOP')`)
			exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type, database_id, sequential) VALUES
				(1, NULL, 'NOOP', 'a', false), (2, 1, 'NOOP', NULL, false), (3, 1, 'NOOP', 'a', true)`)
			start := func() {
				promoteAll(t, conn)
				exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
			}
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (2), (3)`)
			start()
			exec(t, conn, `SELECT count(*) FROM rowrun.end_runs(ARRAY(SELECT id FROM rowrun.task_run WHERE task_id = 3), '{NULL}', '{DONE}', ARRAY['{}'::jsonb], '{NONE}')`)
			require.Equal(t, "DONE", query[string](t, conn, `SELECT outcome FROM rowrun.task WHERE id = 3`))
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
			start()
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (3)`)
			promoteAll(t, conn)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
			promoteAll(t, conn)
			require.Equal(t, []string{"DATABASE", "DATABASE"}, query[[]string](t, conn, `SELECT array_agg(cause) FROM rowrun.task_run WHERE status = 'PENDING'`))
			exec(t, conn, hold)
			promoteAll(t, conn)
			require.Equal(t, []string{"AVAILABLE", "RUNNING"}, query[[]string](t, conn, `SELECT array_agg(status ORDER BY status) FROM rowrun.task_run WHERE task_id = 1`))
		})
	}
}

// The first in the line for a plan's slot is being canceled when the slot comes free: the next one gets it.
func TestASlotGoesPastARunThatIsBeingCanceled(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, other := connect(t, url), connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type) VALUES (1, 1, 'NOOP'), (2, 1, 'NOOP'), (3, 1, 'NOOP')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, priority) VALUES (1, 2), (2, 1), (3, 0)`)
	promoteAll(t, conn)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)

	exec(t, other, `BEGIN`)
	exec(t, other, `SELECT rowrun.cancel_run(id) FROM rowrun.task_run WHERE task_id = 2`)
	exec(t, conn, `SELECT count(*) FROM rowrun.end_runs(ARRAY(SELECT id FROM rowrun.task_run WHERE task_id = 1), '{NULL}', '{DONE}', ARRAY['{}'::jsonb], '{NONE}')`)
	exec(t, conn, `SELECT rowrun.promote_runs()`)
	require.Equal(t, []string{"DONE", "PENDING", "PENDING"}, query[[]string](t, conn, `SELECT array_agg(status ORDER BY task_id) FROM rowrun.task_run`), "the cancel was under way")
	exec(t, other, `COMMIT`)
	promoteAll(t, conn)
	require.Equal(t, []string{"DONE", "CANCELED", "AVAILABLE"}, query[[]string](t, conn, `SELECT array_agg(status ORDER BY task_id) FROM rowrun.task_run`))
}

// An AVAILABLE run that nobody takes keeps a slot, which is worth a word only where none is left.
func TestASlotThatIsKeptIsNamedWhereNoneIsLeft(t *testing.T) {
	t.Parallel()
	for limit, causes := range map[int][]string{1: {"PLAN_LIMIT", "DEPENDENCY", "NO_REPLICA"}, 2: {"DEPENDENCY"}} {
		conn := connect(t, storetest.New(t))
		addReplica(t, conn, "r")
		exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, $1)`, limit)
		exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type) VALUES (1, 1, 'NOOP'), (2, 1, 'NOOP'), (3, 1, 'NOOP')`)
		exec(t, conn, `INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES (2, 3)`)
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1), (2)`)
		promoteAll(t, conn)
		require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE task_id = 1`))
		exec(t, conn, `UPDATE rowrun.replica_heartbeat SET types = '{OTHER}'`)
		require.ElementsMatch(t, causes, query[[]string](t, conn, `SELECT array_agg(DISTINCT w.cause) FROM rowrun.task_run r, rowrun.waiting(r.id) w WHERE r.task_id = 2 AND w.message NOT LIKE 'no live%'`))
	}
}

// A sequential run that its database held lets others go when a limit comes to hold it: one whose last place another run takes, one that is
// lowered, one that is made, one that a target holds back.
func TestNobodyWaitsBehindASequentialRunThatALimitHolds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ limit, hold string }{
		"last place":        {`INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'HTTP', 1)`, `INSERT INTO rowrun.task_run (task_id) VALUES (3)`},
		"last place of key": {`INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('l', '{k}', 1)`, `INSERT INTO rowrun.task_run (task_id) VALUES (3)`},
		"in the same pass":  {`INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'HTTP', 1)`, `INSERT INTO rowrun.task_run (task_id) VALUES (3)`},
		"last token":        {`INSERT INTO rowrun.concurrency_limit (name, type, rate, per) VALUES ('l', 'HTTP', 1, '1 hour')`, `INSERT INTO rowrun.task_run (task_id) VALUES (3)`},
		"by hand":           {`INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'HTTP', 1)`, `WITH r AS (INSERT INTO rowrun.task_run (task_id, run_at) VALUES (3, now() + interval '1 day') RETURNING id) SELECT id FROM r`},
		"lowered":           {`INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'HTTP', 1)`, `UPDATE rowrun.concurrency_limit SET max_running = 0`},
		"lowered, of a key": {`INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('l', '{k}', 1)`, `UPDATE rowrun.concurrency_limit SET max_running = 0`},
		"put off":           {`INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'HTTP', 1)`, `UPDATE rowrun.concurrency_limit SET not_before = now() + interval '1 hour'`},
		"made":              {`SELECT 1`, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'HTTP', 0)`},
		"of another kind":   {`INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'LOG', 0)`, `UPDATE rowrun.concurrency_limit SET type = 'HTTP'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			addReplica(t, conn, "r")
			exec(t, conn, test.limit)
			exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, sequential, payload) VALUES
				(1, 'NOOP', 'a', false, '{}'), (2, 'HTTP', 'a', true, '{"k": "x"}'), (3, 'HTTP', NULL, false, '{"k": "x"}')`)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
			promoteAll(t, conn)
			exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (2), (1)`)
			if name != "in the same pass" {
				promoteAll(t, conn)
				require.Equal(t, []string{"DATABASE", "DATABASE"}, query[[]string](t, conn, `SELECT array_agg(cause) FROM rowrun.task_run WHERE status = 'PENDING'`))
			}
			exec(t, conn, test.hold)
			if name == "by hand" {
				exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE task_id = 3`)
			}
			promoteAll(t, conn)
			require.Equal(t, []string{"AVAILABLE", "RUNNING"}, query[[]string](t, conn, `SELECT array_agg(status ORDER BY status) FROM rowrun.task_run WHERE task_id = 1`))
			require.True(t, query[bool](t, conn, `SELECT bool_or(w.cause IN ('LIMIT', 'RATE_LIMIT')) FROM rowrun.task_run r, rowrun.waiting(r.id) w WHERE r.task_id = 2`))
		})
	}
}

// The same where nothing was active before: who goes first keeps the sequential run from its start, so that its limits are asked
// with it, or nobody asks them.
func TestNobodyWaitsBehindASequentialRunThatALimitHoldsAndAnotherPrecedes(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'NOOP', 0)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, sequential, payload) VALUES
		(1, 'NOOP', 'a', false, '{}'), (2, 'NOOP', 'a', true, '{"k": "x"}')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, priority) VALUES (2, 1), (1, 0)`)
	promoteAll(t, conn)
	require.Equal(t, []string{"LIMIT", "LIMIT"}, query[[]string](t, conn, `SELECT array_agg(cause) FROM rowrun.task_run WHERE status = 'PENDING'`))
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('of x', '{k}', 0);
		SELECT rowrun.delete_limit('l');
		INSERT INTO rowrun.task_run (task_id, priority) VALUES (1, 5)`)
	promoteAll(t, conn)
	require.Equal(t, []string{"1 AVAILABLE", "1 AVAILABLE", "2 PENDING"}, query[[]string](t, conn, `SELECT array_agg(concat_ws(' ', task_id, status) ORDER BY task_id) FROM rowrun.task_run`))

	// What held it is gone, and it has its turn.
	exec(t, conn, `SELECT rowrun.delete_limit('of x');
		UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
	promoteAll(t, conn)
	require.Equal(t, "PENDING", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE task_id = 2`))
	exec(t, conn, `SELECT rowrun.end_runs(array_agg(id), array_agg(NULL::uuid), array_agg('DONE'::text), array_agg('{}'::jsonb), array_agg('NONE'::text))
		FROM rowrun.task_run WHERE status = 'RUNNING'`)
	promoteAll(t, conn)
	require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE task_id = 2`))
}
