package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// What runs once more while its wave soaks has the soak begin anew, also where nobody looked while it ran.
func TestASoakBeginsAnewBehindWhatRanOnceMore(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	sixTasks(t, conn, 600, 0)
	passes(t, conn)
	ends(t, conn, 1, "DONE")
	passes(t, conn)
	exec(t, conn, `SET session_replication_role = replica`)
	exec(t, conn, `UPDATE rowrun.task_run SET finished_at = finished_at - interval '599 s' WHERE task_id = 1`)
	exec(t, conn, `UPDATE rowrun.plan_wave SET done_at = done_at - interval '599 s' WHERE done_at IS NOT NULL`)
	exec(t, conn, `SET session_replication_role = origin`)
	exec(t, conn, `SELECT rowrun.run_tasks('{1}')`)
	exec(t, conn, `SELECT rowrun.promote_runs()`) // no sweep: nobody looks at the waves
	require.Equal(t, "1", available(t, conn))
	ends(t, conn, 1, "DONE")
	passes(t, conn)
	require.True(t, query[bool](t, conn, `SELECT w.done_at >= r.finished_at AND n.opens_at = w.done_at + interval '600 s'
		FROM rowrun.plan_wave w JOIN rowrun.plan_wave n ON n.wave = 2, (SELECT max(finished_at) AS finished_at FROM rowrun.task_run WHERE task_id = 1) r WHERE w.wave = 1`))
	require.Equal(t, "SOAKING WAITING WAITING", query[string](t, conn, statusesOfWaves))
}

// A task of a wave gets no version or database by which it and one of another wave would wait for each other.
func TestAVersionInAWaveChangesToNoneThatWaitsForEver(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.plan (name) VALUES ('p')`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, name, type, database_id, version)
		VALUES (1, 'one', 'NOOP', 'd', '2'), (1, 'two', 'NOOP', 'd', '3'), (1, 'three', 'NOOP', 'e', '1'), (1, 'four', 'NOOP', 'd', '1')`)
	exec(t, conn, `SELECT rowrun.add_waves(1, '[{"tasks": [1]}, {"tasks": [2, 3]}]')`)
	refused := func(change, want string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), change)
		require.Equal(t, "RR003", store.SQLState(err), "%v", err)
		require.ErrorContains(t, err, want)
	}
	refused(`UPDATE rowrun.task SET version = '1' WHERE id = 2`, "task 2 (version 1 of d) in wave 2 would wait for task 1 (version 2) in wave 1")
	refused(`UPDATE rowrun.task SET version = '4' WHERE id = 1`, "task 2 (version 3 of d) in wave 2 would wait for task 1 (version 4) in wave 1")
	refused(`UPDATE rowrun.task SET database_id = 'd' WHERE id = 3`, "task 3 (version 1 of d) in wave 2 would wait for task 1 (version 2) in wave 1")
	// Together they keep their order, and what has no wave waits for none.
	exec(t, conn, `UPDATE rowrun.task SET version = CASE id WHEN 1 THEN '0.1' ELSE '0.2' END WHERE id IN (1, 2)`)
	exec(t, conn, `UPDATE rowrun.task SET version = '0' WHERE id = 4`)
	// One that was DONE and runs once more is not over.
	exec(t, conn, `SELECT rowrun.run_tasks('{1}')`)
	exec(t, conn, `SET session_replication_role = replica; UPDATE rowrun.task SET outcome = 'DONE' WHERE id = 1; SET session_replication_role = origin`)
	refused(`UPDATE rowrun.task SET version = '0.0' WHERE id = 2`, "would wait for task 1")
	exec(t, conn, `SELECT rowrun.cancel_run(id) FROM rowrun.task_run`)
	exec(t, conn, `SET session_replication_role = replica; UPDATE rowrun.task SET outcome = 'DONE' WHERE id = 1; SET session_replication_role = origin`)
	exec(t, conn, `UPDATE rowrun.task SET version = '0.0' WHERE id = 2`)
}
