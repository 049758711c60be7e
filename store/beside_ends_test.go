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
