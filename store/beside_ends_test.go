package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// A dependency that comes beside the end of its task is met also where the run's row says already that it waits for another one, and however
// many passes look before that end is committed.
func TestASecondDependencyThatComesBesideTheEndIsMet(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, other := connect(t, url), connect(t, url)
	addReplica(t, conn, "r")
	_, tasks := newPlan(t, conn, "first", "second", "dependent")
	first, second := began(t, conn, tasks[0]), began(t, conn, tasks[1])
	exec(t, conn, `INSERT INTO rowrun.task_dependency VALUES ($1, $2)`, tasks[2], tasks[0])
	run := newRun(t, conn, tasks[2])
	require.Zero(t, promote(t, conn))
	require.Equal(t, "DEPENDENCY", query[string](t, conn, `SELECT cause FROM rowrun.task_run WHERE id = $1`, run))
	exec(t, other, `BEGIN`)
	exec(t, other, `UPDATE rowrun.task_run SET status = 'DONE' WHERE id = $1`, second)
	exec(t, conn, `INSERT INTO rowrun.task_dependency VALUES ($1, $2)`, tasks[2], tasks[1])
	for range 3 {
		require.Zero(t, promote(t, conn))
	}
	end(t, conn, first, "DONE")
	for range 3 {
		require.Zero(t, promote(t, conn))
	}
	exec(t, other, `COMMIT`)
	require.Equal(t, 1, promote(t, conn))
	require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, run))
}

// A run that comes beside the opening of its wave goes when that is committed.
func TestARunThatComesBesideTheOpeningOfItsWaveGoes(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, other := connect(t, url), connect(t, url)
	exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1); INSERT INTO rowrun.task (id, plan_id, type) VALUES (1, 1, 'NOOP'), (2, 1, 'NOOP')`)
	exec(t, conn, `SELECT rowrun.add_waves(1, '[{"tasks": [1]}, {"tasks": [2]}]')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	passes(t, conn)
	exec(t, other, `BEGIN`)
	exec(t, other, `SELECT rowrun.move_waves(1, 'ROLL_ON')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (2)`)
	for range 3 {
		require.Zero(t, promote(t, conn))
	}
	exec(t, other, `COMMIT`)
	require.Equal(t, 1, promote(t, conn), "and not by a sweep")
	require.Equal(t, "1 2", available(t, conn))
}

// Runs that wait for what is still to come leave no marks, however often they are looked at.
func TestRunsThatWaitLeaveNoMarks(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1); INSERT INTO rowrun.task (id, plan_id, type) SELECT n, 1, 'NOOP' FROM generate_series(1, 4) n`)
	exec(t, conn, `SELECT rowrun.add_waves(1, '[{"tasks": [1]}, {"tasks": [2]}]'); INSERT INTO rowrun.task_dependency VALUES (3, 1)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1), (2), (3)`)
	exec(t, conn, `SELECT rowrun.run_task(task => 4::bigint, after => ARRAY[1]::bigint[])`)
	for range 3 {
		passes(t, conn)
		require.Equal(t, 3, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING' AND cause = 'DEPENDENCY'`))
		exec(t, conn, `INSERT INTO rowrun.gate_mark (kind, run_id) SELECT 'RUN', id FROM rowrun.task_run WHERE status = 'PENDING'`)
	}
}

// Whatever has lost its mark is found by sweeps, of which each looks at a part.
func TestSweepsFindRunsThatWaitForNoTaskAnyMore(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1), (2), (3); INSERT INTO rowrun.task (id, plan_id, type) SELECT n, 1 + (n - 1) / 2, 'NOOP' FROM generate_series(1, 6) n`)
	exec(t, conn, `INSERT INTO rowrun.task_dependency VALUES (2, 1), (4, 3), (6, 5)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT n FROM generate_series(1, 6) n`)
	passes(t, conn)
	require.Equal(t, "1 3 5", available(t, conn))
	for task := 1; task < 6; task += 2 {
		ends(t, conn, task, "DONE")
	}
	exec(t, conn, `DELETE FROM rowrun.gate_mark WHERE kind = 'DEPENDENCY'`)
	for range 100 {
		if available(t, conn) == "2 4 6" {
			return
		}
		passes(t, conn)
	}
	require.Fail(t, "a run is overlooked", available(t, conn))
}

// So is what waits for a replica, a mended version or its task, where nothing has left a mark that this is over: a clock that was set
// back between the judgement and a heartbeat, an INSERT beside the change.
func TestSweepsFindRunsThatNothingHoldsAnyMore(t *testing.T) {
	t.Parallel()
	const lost, back = `UPDATE rowrun.replica_heartbeat SET last_heartbeat = now() - interval '1 day'`, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = now()`
	for name, c := range map[string]struct{ rows, lose, cause, open string }{
		"a replica":                       {`INSERT INTO rowrun.task (id, type, database_id) VALUES (1, 'NOOP', 'd')`, lost, "NO_REPLICA", back},
		"a replica of its database":       {`INSERT INTO rowrun.task (id, type, database_id) VALUES (1, 'SQL', 'd250')`, lost, "NO_REPLICA", back},
		"a replica, for its plan's limit": {`INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1); INSERT INTO rowrun.task (id, plan_id, type) VALUES (1, 1, 'NOOP')`, lost, "NO_REPLICA", back},
		"a replica, for a limit that is no more": {
			`INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1); INSERT INTO rowrun.task (id, plan_id, type) VALUES (1, 1, 'NOBODYS')`, ``, "NO_REPLICA",
			`UPDATE rowrun.plan SET parallel_limit = NULL`,
		},
		"a mended version": {
			`INSERT INTO rowrun.plan (id, on_failure) VALUES (1, 'STOP_DATABASE');
			INSERT INTO rowrun.task (id, plan_id, type, database_id, version) VALUES (1, 1, 'NOOP', 'd', '2'), (2, 1, 'NOOP', 'd', '1')`,
			`UPDATE rowrun.task SET outcome = 'FAILED' WHERE id = 2`, "PLAN_FAILED",
			`UPDATE rowrun.plan SET on_failure = 'CONTINUE'`,
		},
		"its task": {`INSERT INTO rowrun.task (id, type, paused) VALUES (1, 'NOOP', true)`, ``, "PAUSED", `UPDATE rowrun.task SET paused = false`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			addReplica(t, conn, "r")
			exec(t, conn, `UPDATE rowrun.replica_heartbeat SET types = '{NOOP,SQL}', databases = ARRAY(SELECT 'd' || n FROM generate_series(1, 300) n)`)
			exec(t, conn, c.rows)
			silently := func(change string) {
				exec(t, conn, `SET session_replication_role = replica; `+change+`; SET session_replication_role = origin`)
			}
			silently(c.lose)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
			passes(t, conn)
			require.Equal(t, c.cause, query[string](t, conn, `SELECT cause FROM rowrun.task_run`), "the fault")
			silently(c.open)
			for range 100 {
				passes(t, conn)
				if available(t, conn) == "1" {
					return
				}
			}
			require.Fail(t, "the run is overlooked")
		})
	}
}
