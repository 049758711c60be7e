package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// editedWorld is a database with a replica that runs NOOP, OWN and the command report.
func editedWorld(t *testing.T) *pgx.Conn {
	t.Helper()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, concurrency, commands)
		VALUES ('r', clock_timestamp(), '1 hour', '{NOOP,OWN,COMMAND}', 100, '{report}')`)
	return conn
}

// waitsFor are the causes that a run waits for.
func waitsFor(t *testing.T, conn *pgx.Conn, run int64) string {
	t.Helper()
	return query[string](t, conn, `SELECT coalesce(string_agg(DISTINCT cause, ' '), '') FROM rowrun.waiting($1)`, run)
}

// A failed version that is deleted, or is another version, on another database or of another plan by now, holds nobody back.
func TestAFailedVersionThatIsGoneOrMovedIsTold(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]string{
		"deleted": `DELETE FROM rowrun.task WHERE id = 1`, "of a later version": `UPDATE rowrun.task SET version = '3' WHERE id = 1`,
		"on another database": `UPDATE rowrun.task SET database_id = 'b' WHERE id = 1`, "of no plan": `UPDATE rowrun.task SET plan_id = NULL WHERE id = 1`,
		"without a version": `UPDATE rowrun.task SET version = NULL WHERE id = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := editedWorld(t)
			exec(t, conn, `INSERT INTO rowrun.plan (id, on_failure) VALUES (1, 'STOP_DATABASE')`)
			exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type, database_id, version) VALUES (1, 1, 'NOOP', 'a', '1'), (2, 1, 'NOOP', 'a', '2')`)
			end(t, conn, began(t, conn, 1), "FAILED")
			run := newRun(t, conn, 2)
			promoteAll(t, conn)
			require.Equal(t, "PLAN_FAILED", waitsFor(t, conn, run))
			exec(t, conn, edit)
			require.Empty(t, waitsFor(t, conn, run))
			promoteAll(t, conn)
			require.Equal(t, "AVAILABLE", statusOf(t, conn, run))
		})
	}
}

// A task that names a command which a replica runs lets its run go.
func TestATaskWithAnotherCommandIsTold(t *testing.T) {
	t.Parallel()
	conn := editedWorld(t)
	exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type, payload) VALUES (1, 1, 'COMMAND', '{"command": "repotr"}')`)
	run := newRun(t, conn, 1)
	promoteAll(t, conn)
	require.Equal(t, "NO_REPLICA", waitsFor(t, conn, run))
	exec(t, conn, `UPDATE rowrun.task SET payload = payload || '{"args": []}'`)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark`), "the same command")
	exec(t, conn, `UPDATE rowrun.task SET payload = '{"command": "report"}'`)
	promoteAll(t, conn)
	require.Equal(t, "AVAILABLE", statusOf(t, conn, run))
}

// A pass that has found a task paused whose row somebody held, who was just resuming it, and that commits after another one has taken
// the mark of that.
func TestATaskThatIsResumedBesideAPassGoesOn(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, user, late := connect(t, url), connect(t, url), connect(t, url)
	addReplica(t, conn, "r")
	promoteAll(t, conn) // so that the next pass has no mark, and takes no lock
	exec(t, conn, `INSERT INTO rowrun.task (id, type, paused) VALUES (1, 'NOOP', true)`)
	run := newRun(t, conn, 1)
	exec(t, user, `BEGIN`)
	exec(t, user, `UPDATE rowrun.task SET paused = false`)
	exec(t, late, `BEGIN`)
	exec(t, late, `SELECT rowrun.promote_runs()`)
	require.Equal(t, "PAUSED", query[string](t, late, `SELECT cause FROM rowrun.task_run`))
	exec(t, user, `COMMIT`)
	exec(t, conn, `SELECT rowrun.promote_runs()`)
	exec(t, late, `COMMIT`)
	promoteAll(t, conn)
	require.Equal(t, "AVAILABLE", statusOf(t, conn, run))

	// Of one that stays paused the pass leaves no mark that has the next look again.
	exec(t, conn, `UPDATE rowrun.task SET paused = true`)
	promoteAll(t, conn)
	newRun(t, conn, 1)
	exec(t, user, `BEGIN`)
	exec(t, user, `UPDATE rowrun.task SET name = 'held'`)
	promoteAll(t, conn)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark`))
	exec(t, user, `ROLLBACK`)
}

// Three runs of one database: one without a version that is RUNNING, one that is sequential and waits for it, and one behind that. Once
// something else holds the sequential one, the last needn't wait.
func TestNobodyWaitsBehindASequentialRunThatSomethingElseHoldsNow(t *testing.T) {
	t.Parallel()
	const (
		plan  = `INSERT INTO rowrun.plan (id, on_failure) VALUES (1, 'STOP_DATABASE')`
		needs = `INSERT INTO rowrun.task_dependency VALUES (2, 1)`
		needy = `INSERT INTO rowrun.task (id, plan_id, type, database_id, sequential) VALUES (1, 1, 'NOOP', NULL, false), (2, 1, 'NOOP', 'a', true)`
	)
	done := func(t *testing.T, conn *pgx.Conn) {
		t.Helper()
		end(t, conn, began(t, conn, 1), "DONE")
	}
	for name, c := range map[string]struct {
		tasks  []string // the second is the sequential one
		before func(t *testing.T, conn *pgx.Conn)
		closes string
		swept  bool
	}{
		"a dependency that is DONE runs again":          {tasks: []string{plan, needy, needs}, before: done, closes: `INSERT INTO rowrun.task_run (task_id) VALUES (1)`},
		"a dependency that is DONE runs again, later":   {tasks: []string{plan, needy, needs}, before: done, closes: `INSERT INTO rowrun.task_run (task_id, run_at) VALUES (1, now() + interval '1 h')`},
		"a dependency on a database runs again":         {tasks: []string{plan, needy, `UPDATE rowrun.task SET database_id = 'b' WHERE id = 1`, needs}, before: done, closes: `INSERT INTO rowrun.task_run (task_id) VALUES (1)`},
		"a dependency is not skipped any more":          {tasks: []string{plan, needy, needs, `SELECT rowrun.skip_task(1)`}, closes: `SELECT rowrun.unskip_task(1)`},
		"a dependency is not skipped any more, by hand": {tasks: []string{plan, needy, needs, `UPDATE rowrun.task SET skipped = true WHERE id = 1`}, closes: `UPDATE rowrun.task SET skipped = false WHERE id = 1`},
		"a failed version is not skipped any more":      {tasks: []string{plan, `INSERT INTO rowrun.task (id, plan_id, type, database_id, version, sequential) VALUES (1, 1, 'NOOP', 'a', '1', true), (2, 1, 'NOOP', 'a', '2', true)`}, before: skippedFailure, closes: `SELECT rowrun.unskip_task(1)`},
		"a failure that stops is not skipped any more":  {tasks: []string{plan, `UPDATE rowrun.plan SET on_failure = 'STOP'`, needy}, before: skippedFailure, closes: `SELECT rowrun.unskip_task(1)`},
		"a task is paused that is of another database":  {tasks: []string{`INSERT INTO rowrun.task (id, type, database_id, sequential) VALUES (1, 'NOOP', 'b', false), (2, 'NOOP', 'a', true)`}, closes: `UPDATE rowrun.task SET database_id = 'b', paused = true WHERE id = 2`},
		"its replica takes less":                        {tasks: []string{`INSERT INTO rowrun.task (id, type, database_id, sequential) VALUES (2, 'OWN', 'a', true)`}, closes: `UPDATE rowrun.replica_heartbeat SET types = '{NOOP}'`, swept: true},
		"its replica goes":                              {tasks: []string{`INSERT INTO rowrun.task (id, type, database_id, sequential, queue) VALUES (2, 'NOOP', 'a', true, 'q')`, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, queues) VALUES ('q', clock_timestamp(), '1 hour', '{NOOP}', '{q}')`}, closes: `DELETE FROM rowrun.replica_heartbeat WHERE replica_id = 'q'`, swept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := editedWorld(t)
			for _, sql := range c.tasks {
				exec(t, conn, sql)
			}
			if c.before != nil {
				c.before(t, conn)
			}
			exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id) VALUES (10, 'NOOP', 'a'), (11, 'NOOP', 'a')`)
			began(t, conn, 10)
			sequential, behind := newRun(t, conn, 2), newRun(t, conn, 11)
			promoteAll(t, conn)
			require.Equal(t, "DATABASE_BUSY", waitsFor(t, conn, sequential))
			require.Equal(t, "DATABASE_BUSY", waitsFor(t, conn, behind))
			exec(t, conn, c.closes)
			if c.swept {
				exec(t, conn, `SELECT rowrun.promote_runs(true)`)
			}
			promoteAll(t, conn)
			require.Equal(t, "PENDING", statusOf(t, conn, sequential))
			require.Equal(t, "AVAILABLE", statusOf(t, conn, behind))
		})
	}
}

// skippedFailure leaves task 1 FAILED and skipped.
func skippedFailure(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	end(t, conn, began(t, conn, 1), "FAILED")
	exec(t, conn, `SELECT rowrun.skip_task(1)`)
}

// A plan that runs again as a whole says once that its tasks hold others back again.
func TestAPlanThatRunsAgainLeavesOneMark(t *testing.T) {
	t.Parallel()
	conn := editedWorld(t)
	exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type) SELECT n, 1, 'NOOP' FROM generate_series(1, 20) n`)
	exec(t, conn, `INSERT INTO rowrun.task_dependency SELECT 20, n FROM generate_series(1, 19) n`)
	exec(t, conn, `UPDATE rowrun.task SET outcome = 'DONE'`)
	promoteAll(t, conn)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task ORDER BY id`)
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark WHERE kind = 'PLAN_CHANGED'`))
	promoteAll(t, conn)
	require.Equal(t, map[string]int{"AVAILABLE": 19, "PENDING": 1}, statusCounts(t, conn))
}
