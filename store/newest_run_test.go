package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// versions makes a plan with two versions of one database, the first tried twice, and a replica that runs them.
func versions(t *testing.T, conn *pgx.Conn, onFailure string) (first, second int64) {
	t.Helper()
	addReplica(t, conn, "r")
	plan := query[int64](t, conn, `INSERT INTO rowrun.plan (on_failure) VALUES ($1) RETURNING id`, onFailure)
	const task = `INSERT INTO rowrun.task (plan_id, type, database_id, version, max_attempts) VALUES ($1, 'NOOP', 'a', $2, 2) RETURNING id`
	return query[int64](t, conn, task, plan, "1"), query[int64](t, conn, task, plan, "2")
}

// A run that waits for another transaction to end the unfinished run of its task comes after all runs of that
// transaction, also after those whose ids were drawn later. The newest run is the one that was unfinished last.
func TestNewestRunIsTheOneUnfinishedLast(t *testing.T) {
	t.Parallel()
	for _, ends := range []struct{ higher, newest string }{{"FAILED", "DONE"}, {"DONE", "FAILED"}, {"CANCELED", "FAILED"}, {"FAILED", "FAILED"}} {
		t.Run(ends.higher+" then "+ends.newest, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, late, s := connect(t, url), connect(t, url), openStore(t, url)
			first, second := versions(t, conn, "STOP_DATABASE")

			exec(t, conn, `BEGIN`)
			oldest := newRun(t, conn, first)
			inserted := make(chan error, 1)
			var newest int64
			go func() {
				inserted <- late.QueryRow(t.Context(), `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, first).Scan(&newest)
			}()
			require.Eventually(t, func() bool {
				return query[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)`, late.PgConn().PID())
			}, 10*time.Second, time.Millisecond, "the other INSERT waits")
			finish(t, conn, oldest, "CANCELED")
			higher := newRun(t, conn, first)
			finish(t, conn, higher, ends.higher)
			exec(t, conn, `COMMIT`)
			require.NoError(t, <-inserted)
			require.Less(t, newest, higher)
			finish(t, conn, newest, ends.newest)

			require.Equal(t, ends.newest, query[string](t, conn, `SELECT status FROM rowrun.task_status WHERE task_id = $1`, first))
			later, held := newRun(t, conn, second), 0
			if ends.newest == "FAILED" {
				held = 1
			}
			require.Equal(t, 1-held, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs(true)`))
			require.Equal(t, held, query[int](t, conn, `SELECT count(*) FROM rowrun.waiting($1) WHERE cause = 'PLAN_FAILED'`, later))

			_, err := conn.Exec(t.Context(), `SELECT rowrun.retry_run($1)`, higher)
			require.Equal(t, "RR004", store.SQLState(err), "retry of an earlier run")
			if ends.newest == "FAILED" {
				exec(t, conn, `BEGIN`)
				require.Positive(t, query[int64](t, conn, `SELECT rowrun.retry_run($1)`, newest))
				exec(t, conn, `ROLLBACK`)
			}

			age(t, conn)
			_, err = s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
			require.NoError(t, err)
			require.Equal(t, []int64{newest, later}, left(t, conn), "retention keeps the last")
			require.Equal(t, ends.newest, query[string](t, conn, `SELECT outcome FROM rowrun.task WHERE id = $1`, first))

			if held == 1 {
				exec(t, conn, `DELETE FROM rowrun.task_run WHERE id = $1`, newest)
				require.Equal(t, "NOT_STARTED", query[string](t, conn, `SELECT status FROM rowrun.task_status WHERE task_id = $1`, first))
				require.Equal(t, 1, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`))
			}
		})
	}
}

// A FAILED run has failed for good once its successor was deleted, whatever the task's earlier runs were.
func TestDeletedSuccessorLeavesAFailure(t *testing.T) {
	t.Parallel()
	for _, onFailure := range []string{"STOP_DATABASE", "STOP"} {
		for _, retried := range []string{"automatically", "by a person"} {
			t.Run(onFailure+" "+retried, func(t *testing.T) {
				t.Parallel()
				conn := connect(t, storetest.New(t))
				first, second := versions(t, conn, onFailure)
				finish(t, conn, newRun(t, conn, first), "DONE")
				exec(t, conn, `INSERT INTO rowrun.task_dependency VALUES ($1, $2)`, second, first)

				failed := newRun(t, conn, first)
				for _, s := range []string{"AVAILABLE", "RUNNING"} {
					exec(t, conn, `UPDATE rowrun.task_run SET status = $2, replica_id = 'r' WHERE id = $1`, failed, s)
				}
				how := map[string]string{"automatically": "FAILURE", "by a person": "NONE"}[retried]
				exec(t, conn, `SELECT rowrun.end_runs(ARRAY[$1::bigint], '{NULL}', '{FAILED}', '{"{}"}', ARRAY[$2])`, failed, how)
				successor := query[int64](t, conn, `SELECT rowrun.retry_run($1)`, failed)
				later := newRun(t, conn, second)
				exec(t, conn, `DELETE FROM rowrun.task_run WHERE id = $1`, successor)

				require.Equal(t, "FAILED", query[string](t, conn, `SELECT status FROM rowrun.task_status WHERE task_id = $1`, first))
				require.Equal(t, 0, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs(true)`))
				require.Equal(t, "DEPENDENCY PLAN_FAILED", query[string](t, conn, `SELECT string_agg(cause, ' ') FROM rowrun.waiting($1)`, later))

				exec(t, conn, `DELETE FROM rowrun.task_run WHERE id = $1`, failed)
				require.Equal(t, "DONE", query[string](t, conn, `SELECT status FROM rowrun.task_status WHERE task_id = $1`, first))
				require.Equal(t, 1, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`), "the run before it counts again")
			})
		}
	}
}

// What is retried of a plan's task, and told of its failure, is its newest run, whichever has the highest id; without it, the one of the
// highest id.
func TestThePlanSpeaksOfTheNewestRun(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	plan, tasks := newPlan(t, conn, "a")
	ids := query[[]int64](t, conn, `SELECT array_agg(nextval('rowrun.task_run_id_seq')) FROM generate_series(1, 2)`)
	for i, id := range []int64{ids[1], ids[0]} {
		exec(t, conn, `INSERT INTO rowrun.task_run (id, task_id) VALUES ($1, $2)`, id, tasks[0])
		claimed(t, conn, id)
		require.Equal(t, "FAILED", query[string](t, conn, endOne, id, "FAILED", []string{"at first", "at last"}[i]))
	}
	message := func() string {
		return query[string](t, conn, `SELECT concat_ws(' ', f ->> 'run_id', f ->> 'detail') FROM rowrun.plan p CROSS JOIN LATERAL rowrun.plan_message(p, 'PIPELINE_FAILED') m
			CROSS JOIN LATERAL jsonb_array_elements(m.standard::jsonb #> '{data,failed_tasks}') f WHERE p.id = $1`, plan)
	}
	require.Equal(t, "1 at last", message())
	exec(t, conn, `UPDATE rowrun.task SET outcome_run_id = NULL`)
	require.Equal(t, "2 at first", message())
	exec(t, conn, `UPDATE rowrun.task SET outcome_run_id = $1`, ids[0])
	successor := query[int64](t, conn, `SELECT rowrun.retry_plan($1)`, plan)
	require.Equal(t, ids[0], query[int64](t, conn, `SELECT retry_of FROM rowrun.task_run WHERE id = $1`, successor))

	// Its newest run is gone, by an edit that told nobody.
	claimed(t, conn, successor)
	end(t, conn, successor, "FAILED")
	exec(t, conn, `UPDATE rowrun.task SET outcome_run_id = 99`)
	last := query[int64](t, conn, `SELECT rowrun.retry_plan($1)`, plan)
	require.Equal(t, successor, query[int64](t, conn, `SELECT retry_of FROM rowrun.task_run WHERE id = $1`, last))
}
