package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// Of runs that are judged together no more are promoted than the plan has slots.
func TestPlanLimitHoldsWithinOnePass(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	plan := query[int64](t, conn, `INSERT INTO rowrun.plan (parallel_limit) VALUES (2) RETURNING id`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, type) SELECT $1, 'NOOP' FROM generate_series(1, 5)`, plan)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task`)
	require.Equal(t, 2, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`))
	require.Equal(t, 0, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs(true)`))
	run := query[int64](t, conn, `SELECT id FROM rowrun.task_run WHERE status = 'AVAILABLE' LIMIT 1`)
	exec(t, conn, `SELECT rowrun.cancel_run($1)`, run)
	require.Equal(t, 1, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`))
}

// A version that failed for good, or was canceled, holds back the later ones of its plan and database, those of no
// other plan, until it is skipped.
func TestFailedVersionStopsLaterOnes(t *testing.T) {
	t.Parallel()
	for _, ends := range []string{"FAILED", "CANCELED"} {
		t.Run(ends, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			addReplica(t, conn, "r")
			plan := query[int64](t, conn, `INSERT INTO rowrun.plan DEFAULT VALUES RETURNING id`)
			task := func(plan any, db, version string) int64 {
				return query[int64](t, conn, `INSERT INTO rowrun.task (plan_id, type, database_id, version) VALUES ($1, 'NOOP', $2, $3) RETURNING id`,
					plan, db, version)
			}
			first := task(plan, "a", "1.9")
			run := newRun(t, conn, first)
			require.Equal(t, 1, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`))
			exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, run)
			exec(t, conn, `UPDATE rowrun.task_run SET status = $2 WHERE id = $1`, run, ends)

			later := newRun(t, conn, task(plan, "a", "1.10"))
			require.Equal(t, 0, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs(true)`))
			require.Equal(t, "PLAN_FAILED", query[string](t, conn, `SELECT string_agg(cause, ' ') FROM rowrun.waiting($1)`, later))
			newRun(t, conn, task(plan, "b", "1.10"))
			require.Equal(t, 1, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`), "another database")
			exec(t, conn, `UPDATE rowrun.task SET skipped = true WHERE id = $1`, first)
			require.Equal(t, 1, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`))
		})
	}
}

// Who waits behind a sequential run goes on once a smaller version holds that one back.
func TestNobodyWaitsBehindASequentialRunThatAVersionHolds(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	run := func(version any, sequential bool) int64 {
		return newRun(t, conn, query[int64](t, conn, `INSERT INTO rowrun.task (type, database_id, version, sequential)
			VALUES ('NOOP', 'a', $1, $2) RETURNING id`, version, sequential))
	}
	run("2", false)
	require.Equal(t, 1, promote(t, conn))
	run("2", true)
	behind := run(nil, false)
	require.Zero(t, promote(t, conn))
	require.Equal(t, "DATABASE_BUSY", query[string](t, conn, `SELECT cause FROM rowrun.waiting($1)`, behind))
	run("1", false)
	require.Equal(t, 2, promote(t, conn))
	require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, behind))
}

// The same where the plan of the sequential run stops, and where that run comes to wait for a task.
func TestNobodyWaitsBehindASequentialRunThatItsPlanHolds(t *testing.T) {
	t.Parallel()
	fails := func(t *testing.T, conn *pgx.Conn, other int64) {
		t.Helper()
		run := newRun(t, conn, other)
		claimed(t, conn, run)
		require.Equal(t, "FAILED", query[string](t, conn, endOne, run, "FAILED", "no"))
	}
	type step func(t *testing.T, conn *pgx.Conn, sequential, other int64)
	for name, c := range map[string]struct{ before, closes step }{
		"failure": {closes: func(t *testing.T, conn *pgx.Conn, _, other int64) {
			t.Helper()
			fails(t, conn, other)
		}},
		"dependency": {closes: func(t *testing.T, conn *pgx.Conn, sequential, other int64) {
			t.Helper()
			exec(t, conn, `INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES ($1, $2)`, sequential, other)
		}},
		"pause": {closes: func(t *testing.T, conn *pgx.Conn, sequential, _ int64) {
			t.Helper()
			exec(t, conn, `UPDATE rowrun.plan SET paused = true WHERE id = (SELECT plan_id FROM rowrun.task WHERE id = $1)`, sequential)
		}},
		"pause of the task": {closes: func(t *testing.T, conn *pgx.Conn, sequential, _ int64) {
			t.Helper()
			exec(t, conn, `UPDATE rowrun.task SET paused = true WHERE id = $1`, sequential)
		}},
		"limit": {closes: func(t *testing.T, conn *pgx.Conn, sequential, other int64) {
			t.Helper()
			claimed(t, conn, newRun(t, conn, other))
			exec(t, conn, `UPDATE rowrun.plan SET parallel_limit = 1 WHERE id = (SELECT plan_id FROM rowrun.task WHERE id = $1)`, sequential)
		}},
		"a failure stops the plan later": {
			before: func(t *testing.T, conn *pgx.Conn, _, other int64) {
				t.Helper()
				exec(t, conn, `UPDATE rowrun.plan SET on_failure = 'CONTINUE'`)
				fails(t, conn, other)
			},
			closes: func(t *testing.T, conn *pgx.Conn, _, _ int64) {
				t.Helper()
				exec(t, conn, `UPDATE rowrun.plan SET on_failure = 'STOP'`)
			},
		},
		"a failure counts again": {
			before: func(t *testing.T, conn *pgx.Conn, _, other int64) {
				t.Helper()
				fails(t, conn, other)
				exec(t, conn, `UPDATE rowrun.task SET skipped = true WHERE id = $1`, other)
			},
			closes: func(t *testing.T, conn *pgx.Conn, _, other int64) {
				t.Helper()
				exec(t, conn, `UPDATE rowrun.task SET skipped = false WHERE id = $1`, other)
			},
		},
		"a successor is deleted": {
			before: func(t *testing.T, conn *pgx.Conn, _, other int64) {
				t.Helper()
				exec(t, conn, `UPDATE rowrun.task SET max_attempts = 2, retry_delay = '1 h' WHERE id = $1`, other)
				fails(t, conn, other)
			},
			closes: func(t *testing.T, conn *pgx.Conn, _, other int64) {
				t.Helper()
				exec(t, conn, `DELETE FROM rowrun.task_run WHERE task_id = $1 AND status = 'PENDING'`, other)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			addReplica(t, conn, "r")
			onA := func(plan *int64, sequential bool) (task int64) {
				return query[int64](t, conn, `INSERT INTO rowrun.task (plan_id, type, database_id, sequential)
					VALUES ($1, 'NOOP', 'a', $2) RETURNING id`, plan, sequential)
			}
			claimed(t, conn, newRun(t, conn, onA(nil, false)))
			plan, tasks := newPlan(t, conn, "other")
			exec(t, conn, `UPDATE rowrun.plan SET on_failure = 'STOP' WHERE id = $1`, plan)
			if c.before != nil {
				c.before(t, conn, 0, tasks[0])
			}
			sequential := onA(&plan, true)
			newRun(t, conn, sequential)
			promote(t, conn)
			behind := newRun(t, conn, onA(nil, false))
			require.Zero(t, promote(t, conn))
			require.Equal(t, "DATABASE_BUSY", query[string](t, conn, `SELECT cause FROM rowrun.waiting($1)`, behind))
			c.closes(t, conn, sequential, tasks[0])
			promote(t, conn)
			require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, behind))
		})
	}
}
