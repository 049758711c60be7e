package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// What a plan ends with is run once for each round: when all of it is done, or at the first failure for good.
func TestAPlanEndsWithATaskOncePerRound(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	handler := query[int64](t, conn, `INSERT INTO rowrun.task (name, type) VALUES ('wrap up', 'OWN') RETURNING id`)
	plan, tasks := newPlan(t, conn, "a", "b", "c")
	exec(t, conn, `UPDATE rowrun.plan SET on_finish_task = 'wrap up', on_failure = 'CONTINUE' WHERE id = $1`, plan)
	told := func() []string {
		return all[string](t, conn, `SELECT concat_ws(' ', r.status, f ->> 'event', f ->> 'plan_id', f ->> 'plan', f ->> 'round', f ->> 'failed_task_count', f #>> '{failed_tasks,0,name}', f ->> 'message')
			FROM rowrun.task_run r CROSS JOIN LATERAL (SELECT r.input -> 'finished_plan' AS f) x WHERE r.task_id = $1 ORDER BY r.id`, handler)
	}
	first, second, third := began(t, conn, tasks[0]), began(t, conn, tasks[1]), began(t, conn, tasks[2])
	end(t, conn, first, "DONE")
	require.Empty(t, told())
	require.Equal(t, "FAILED", endAs(t, conn, second, failedFor, "NONE"))
	failed := "AVAILABLE PIPELINE_FAILED 1 release 1 1 b Pipeline failed - Task b failed"
	require.Equal(t, []string{failed}, told())
	require.Equal(t, "FAILED", endAs(t, conn, third, failedFor, "NONE"))
	promote(t, conn)
	require.Equal(t, []string{failed}, told(), "once for a round")
	for _, run := range all[int64](t, conn, `SELECT rowrun.retry_plan($1)`, plan) {
		claimed(t, conn, run)
		end(t, conn, run, "DONE")
	}
	promote(t, conn)
	require.Equal(t, []string{failed, "AVAILABLE PIPELINE_COMPLETED 1 release 2 Pipeline completed successfully on retry"}, told())
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Len(t, told(), 2)
}

// A paused plan is complete when it is resumed, a skipped task completes it; both run what it ends with.
func TestAPlanEndsWithATaskWhoeverCompletesIt(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (name, type) VALUES ('wrap up', 'OWN')`)
	plan := query[int64](t, conn, `SELECT rowrun.create_plan('p', '[{"name": "a", "type": "NOOP"}]', on_finish_task => 'wrap up')`)
	ran := func() int {
		return query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE input ? 'finished_plan'`)
	}
	run := query[int64](t, conn, `SELECT rowrun.run_plan($1)`, plan)
	claimed(t, conn, run)
	exec(t, conn, `UPDATE rowrun.plan SET paused = true`)
	end(t, conn, run, "DONE")
	promote(t, conn)
	require.Zero(t, ran())
	exec(t, conn, `UPDATE rowrun.plan SET paused = false`)
	require.Equal(t, 1, ran())
	skipped := query[int64](t, conn, `SELECT rowrun.create_plan('q', '[{"name": "a", "type": "NOOP"}]', on_finish_task => 'wrap up')`)
	exec(t, conn, `SELECT rowrun.skip_task(id) FROM rowrun.task WHERE plan_id = $1`, skipped)
	promote(t, conn)
	require.Equal(t, 2, ran())
}

// Where the task is gone, the plan has its event, and a note says what is missing.
func TestAPlanWhoseLastTaskIsGoneEnds(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	handler := query[int64](t, conn, `INSERT INTO rowrun.task (name, type) VALUES ('wrap up', 'OWN') RETURNING id`)
	plan, tasks := newPlan(t, conn, "a")
	for name, sql := range map[string]string{
		"unknown":    `UPDATE rowrun.plan SET on_finish_task = 'nobody'`,
		"of a plan":  `UPDATE rowrun.plan SET on_finish_task = 'a'`,
		"at once":    `INSERT INTO rowrun.plan (on_finish_task) VALUES ('nobody')`,
		"in a plans": `SELECT rowrun.create_plan('p', '[]', on_finish_task => 'nobody')`,
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.Equal(t, "RR003", store.SQLState(err), name)
	}
	exec(t, conn, `SET ROLE rowrun_client`)
	exec(t, conn, `UPDATE rowrun.plan SET on_finish_task = $2::bigint::text WHERE id = $1`, plan, handler)
	exec(t, conn, `RESET ROLE`)
	exec(t, conn, `DELETE FROM rowrun.task WHERE id = $1`, handler)
	end(t, conn, began(t, conn, tasks[0]), "DONE")
	require.Equal(t, []string{"1 PIPELINE_COMPLETED: Pipeline completed successfully"}, told(t, conn, plan))
	require.Equal(t, []string{"plan.finish_missing"}, all[string](t, conn, `SELECT event FROM rowrun.stream_note`))
}
