package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// A dependency that goes in a transaction that is still open when the run is inserted and judged: the run was held for
// it, and its transaction couldn't see the run.
func TestADependencyThatGoesIsSeenByARunThatCame(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, other := connect(t, url), connect(t, url)
	_, tasks := newPlan(t, conn, "needed", "dependent")
	exec(t, conn, `INSERT INTO rowrun.task_dependency VALUES ($1, $2)`, tasks[1], tasks[0])
	exec(t, other, `BEGIN`)
	exec(t, other, `DELETE FROM rowrun.task_dependency`)
	run := newRun(t, conn, tasks[1])
	require.Zero(t, promote(t, conn))
	require.Equal(t, "DEPENDENCY", query[string](t, conn, `SELECT cause FROM rowrun.waiting($1)`, run))
	exec(t, other, `COMMIT`)
	require.Equal(t, 1, promote(t, conn))
}

// A task that ends in a transaction that began to before the dependency on it was there: it leaves no mark for those
// who wait, and the pass that holds a run back for it sees to that.
func TestADependencyThatComesBesideTheEndIsMet(t *testing.T) {
	t.Parallel()
	for _, judged := range []string{"before the end commits", "after the end commits"} {
		t.Run(judged, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, other := connect(t, url), connect(t, url)
			addReplica(t, conn, "r")
			_, tasks := newPlan(t, conn, "needed", "dependent")
			needed := began(t, conn, tasks[0])
			exec(t, other, `BEGIN`)
			exec(t, other, `UPDATE rowrun.task_run SET status = 'DONE' WHERE id = $1`, needed)
			exec(t, conn, `INSERT INTO rowrun.task_dependency VALUES ($1, $2)`, tasks[1], tasks[0])
			run := newRun(t, conn, tasks[1])
			if judged == "after the end commits" {
				exec(t, other, `COMMIT`)
			} else {
				require.Zero(t, promote(t, conn))
				require.Equal(t, "DEPENDENCY", query[string](t, conn, `SELECT cause FROM rowrun.task_run WHERE id = $1`, run))
				exec(t, other, `COMMIT`)
			}
			require.Equal(t, 1, promote(t, conn))
		})
	}
}

// An end that comes after the pass has held a run back for it sees that run's dependency.
func TestAnEndSeesWhoWaitsForIt(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	_, tasks := newPlan(t, conn, "needed", "dependent")
	needed := began(t, conn, tasks[0])
	exec(t, conn, `INSERT INTO rowrun.task_dependency VALUES ($1, $2)`, tasks[1], tasks[0])
	newRun(t, conn, tasks[1])
	require.Zero(t, promote(t, conn))
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark`))
	end(t, conn, needed, "DONE")
	require.Equal(t, 1, promote(t, conn))
}

// Runs of a plan that wait for their plan alone when they are inserted are found by one mark, and by another one where the first of them
// turn out to be held by something else.
func TestRunsBehindHeldOnesAreReached(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	plan := query[int64](t, conn, `INSERT INTO rowrun.plan (parallel_limit) VALUES (1) RETURNING id`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, type, paused) SELECT $1, 'NOOP', i < 1500 FROM generate_series(1, 1500) i`, plan)
	exec(t, conn, `SELECT rowrun.run_plan($1)`, plan)
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark WHERE kind = 'PLAN'`))
	passes := 0
	for promote(t, conn) == 0 {
		passes++
		require.Less(t, passes, 5)
	}
	require.Equal(t, 1499, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE cause = 'PAUSED'`))
}

// A failure that counts again because a later run was deleted was news in its own round only.
func TestADeletedRunBringsNoOldFailureBack(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	plan, tasks := newPlan(t, conn, "a", "b")
	failed := began(t, conn, tasks[0])
	end(t, conn, failed, "FAILED")
	require.Len(t, told(t, conn, plan), 1)
	mended := newRun(t, conn, tasks[0])
	promote(t, conn)
	claimed(t, conn, mended)
	end(t, conn, mended, "DONE")
	require.Equal(t, 2, query[int](t, conn, `SELECT round FROM rowrun.plan WHERE id = $1`, plan))
	exec(t, conn, `DELETE FROM rowrun.task_run WHERE id = $1`, mended)
	require.Equal(t, "FAILED", query[string](t, conn, `SELECT status FROM rowrun.task_status WHERE task_id = $1`, tasks[0]))
	query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs(true)`)
	require.Len(t, told(t, conn, plan), 1)
}
