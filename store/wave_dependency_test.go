package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A wave waits for those before it. A task of one of these that waits for a task of it, also by way of others, would do so for ever: that is
// refused where the second of the two is said, the wave or the dependency.
func TestNoTaskWaitsForOneOfALaterWave(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	refused := func(want, sql string, args ...any) {
		t.Helper()
		_, err := conn.Exec(t.Context(), sql, args...)
		require.Equal(t, "RR003", store.SQLState(err), "%v", err)
		require.ErrorContains(t, err, want)
	}
	const depends, waves = `INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES ($1, $2)`, `SELECT rowrun.add_waves(1, $1)`
	exec(t, conn, `INSERT INTO rowrun.plan (name, on_failure) VALUES ('p', 'CONTINUE')`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, name, type) SELECT 1, 't' || n, 'NOOP' FROM generate_series(1, 9) n`)

	// 1 waits for 2, which is in no wave and waits for 3.
	exec(t, conn, depends, 1, 2)
	exec(t, conn, depends, 2, 3)
	exec(t, conn, depends, 5, 4)
	refused("task 1 in wave 1 would wait for task 3 in wave 2, and that wave for it", waves, `[{"tasks": [1]}, {"tasks": [3]}]`)
	refused("task 5 in wave 1 would wait for task 4 in wave 2, and that wave for it", waves, `[{"tasks": [5]}, {"tasks": [4]}]`)
	exec(t, conn, waves, `[{"tasks": [1, 4]}, {"tasks": [5, 6]}]`)
	refused("task 1 in wave 1 would wait for task 3 in wave 3, and that wave for it", waves, `[{"tasks": [3]}]`)

	refused("task 4 in wave 1 would wait for task 6 in wave 2, and that wave for it", depends, 4, 6)
	exec(t, conn, depends, 7, 6) // which is in no wave
	refused("task 4 in wave 1 would wait for task 6 in wave 2, and that wave for it", depends, 4, 7)
	refused("task 1 in wave 1 would wait for task 6 in wave 2, and that wave for it", depends, 3, 6)
	exec(t, conn, depends, 6, 3)
	exec(t, conn, depends, 8, 9)
	refused("task 4 in wave 1 would wait for task 6 in wave 2, and that wave for it", `UPDATE rowrun.task_dependency SET task_id = 4, depends_on_id = 6 WHERE task_id = 8`)

	// What is skipped is waited for by nobody.
	exec(t, conn, `SELECT rowrun.skip_task(6)`)
	exec(t, conn, depends, 4, 6)
	exec(t, conn, `SELECT rowrun.run_plan(1)`)
	for _, task := range []int{3, 2, 1, 4, 7, 9} {
		passes(t, conn)
		ends(t, conn, task, "DONE")
	}
	passes(t, conn)
	require.Equal(t, "5 8", available(t, conn))

	// What is DONE waits for nobody, and no wave for one before which has been opened.
	exec(t, conn, waves, `[{"tasks": []}]`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, name, type) SELECT 1, 't' || n, 'NOOP' FROM generate_series(10, 11) n`)
	exec(t, conn, waves, `[{"tasks": [10]}]`)
	exec(t, conn, depends, 1, 10)
	exec(t, conn, `DELETE FROM rowrun.task_dependency WHERE task_id = 1 AND depends_on_id = 10`)
	exec(t, conn, `SELECT rowrun.run_tasks('{1}')`)
	exec(t, conn, depends, 1, 10)
}

func TestAWaveBearsNoFewerThanNoFailures(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.plan (name) VALUES ('p')`)
	_, err := conn.Exec(t.Context(), `SELECT rowrun.add_waves(1, '[{"max_failures": -1, "tasks": []}]')`)
	require.Equal(t, "RR003", store.SQLState(err))
	require.ErrorContains(t, err, "max_failures of wave 1 is at least 0, not -1")
}
