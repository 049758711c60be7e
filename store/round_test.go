package store_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A failure is told once; a retry that fails is told anew, one that succeeds completes.
func TestRetriesBeginRounds(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	plan, tasks := newPlan(t, conn, "A", "Task B", "")
	a, b := began(t, conn, tasks[0]), began(t, conn, tasks[1])
	waits := query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1 hour') RETURNING id`, tasks[2])
	end(t, conn, a, "FAILED")
	end(t, conn, b, "FAILED")
	want := []string{"1 PIPELINE_FAILED: Pipeline failed - Task A failed"}
	require.Equal(t, want, told(t, conn, plan), "the second failure of the round is none")

	// A run that was only still waiting at the announcement begins no round.
	exec(t, conn, `UPDATE rowrun.task_run SET run_at = now() WHERE id = $1`, waits)
	claimed(t, conn, waits)
	require.Equal(t, 1, query[int](t, conn, `SELECT round FROM rowrun.plan WHERE id = $1`, plan))
	end(t, conn, waits, "FAILED")
	require.Equal(t, want, told(t, conn, plan))

	again := query[int64](t, conn, `SELECT rowrun.retry_run($1)`, b)
	require.Equal(t, 1, query[int](t, conn, `SELECT round FROM rowrun.plan WHERE id = $1`, plan), "not before it is promoted")
	claimed(t, conn, again)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.webhook_delivery_log WHERE plan_id = $1`, plan))
	end(t, conn, again, "FAILED")
	want = append(want, "2 PIPELINE_FAILED: Pipeline failed on retry - Task B failed")
	require.Equal(t, want, told(t, conn, plan))

	exec(t, conn, `SELECT rowrun.retry_plan($1)`, plan)
	promote(t, conn)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
	runs := query[[]int64](t, conn, `SELECT array_agg(id ORDER BY id) FROM rowrun.task_run WHERE status = 'RUNNING'`)
	require.Len(t, runs, 3)
	for _, run := range runs {
		require.Equal(t, want, told(t, conn, plan))
		end(t, conn, run, "DONE")
	}
	require.Equal(t, append(want, "3 PIPELINE_COMPLETED: Pipeline completed successfully on retry"), told(t, conn, plan))
	require.Equal(t, "3 2 PIPELINE_COMPLETED", query[string](t, conn, `SELECT concat_ws(' ', l.round, l.retry_count, l.event_type)
		FROM rowrun.webhook_delivery_log l JOIN rowrun.plan p ON p.id = l.plan_id AND (p.round, p.announced_round, p.retry_count) = (l.round, l.round, l.retry_count)`))
}

// A failure that is still to be retried is no event; the retry belongs to the round of what it follows.
func TestAFailureStillToBeRetriedIsNoEvent(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	plan, tasks := newPlan(t, conn, "a", "b", "c")
	exec(t, conn, `UPDATE rowrun.task SET max_attempts = 2 WHERE id IN ($1, $2)`, tasks[0], tasks[2])
	a, b, c := began(t, conn, tasks[0]), began(t, conn, tasks[1]), began(t, conn, tasks[2])
	end(t, conn, a, "FAILED")
	require.Empty(t, told(t, conn, plan))
	end(t, conn, b, "FAILED")
	want := []string{"1 PIPELINE_FAILED: Pipeline failed - Task b failed"}
	require.Equal(t, want, told(t, conn, plan))
	end(t, conn, c, "FAILED")
	for _, first := range []int64{a, c} {
		second := query[int64](t, conn, `SELECT retry_run_id FROM rowrun.task_run WHERE id = $1`, first)
		claimed(t, conn, second)
		require.Equal(t, 1, query[int](t, conn, `SELECT round FROM rowrun.plan WHERE id = $1`, plan), "it began in the first round")
		end(t, conn, second, "FAILED")
		require.Equal(t, want, told(t, conn, plan), "that round has its event")
	}
}

// What is skipped counts as done; skipping after the announcement begins a round, as a run would but for the count.
func TestSkippingBeginsRounds(t *testing.T) {
	t.Parallel()
	for name, skip := range map[string]string{
		"function": `SELECT rowrun.skip_task($1, 'why')`,
		"update":   `UPDATE rowrun.task SET skipped = true WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			plan, tasks := newPlan(t, conn, "a", "b")
			exec(t, conn, skip, tasks[0])
			exec(t, conn, skip, tasks[1])
			promote(t, conn)
			want := []string{"1 PIPELINE_COMPLETED: Pipeline completed successfully"}
			require.Equal(t, want, told(t, conn, plan), "all skipped")
			exec(t, conn, skip, tasks[1])
			promote(t, conn)
			require.Equal(t, want, told(t, conn, plan), "it was skipped already")

			plan, tasks = newPlan(t, conn, "a", "b")
			end(t, conn, began(t, conn, tasks[0]), "DONE")
			end(t, conn, began(t, conn, tasks[1]), "FAILED")
			exec(t, conn, skip, tasks[1])
			promote(t, conn)
			want = []string{"1 PIPELINE_FAILED: Pipeline failed - Task b failed", "2 PIPELINE_COMPLETED: Pipeline completed successfully"}
			require.Equal(t, want, told(t, conn, plan))
			require.Equal(t, "2 0", query[string](t, conn, `SELECT concat_ws(' ', round, retry_count) FROM rowrun.plan WHERE id = $1`, plan))

			// Its failure of the first round isn't told again.
			exec(t, conn, `UPDATE rowrun.task SET skipped = false WHERE id = $1`, tasks[1])
			promote(t, conn)
			exec(t, conn, `SELECT rowrun.promote_runs(true)`)
			require.Equal(t, want, told(t, conn, plan))
			require.Equal(t, "3 2", query[string](t, conn, `SELECT concat_ws(' ', round, announced_round) FROM rowrun.plan WHERE id = $1`, plan))
			require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.webhook_delivery_log WHERE plan_id = $1`, plan))
		})
	}
}

// A paused plan fails at once, but completes when it is resumed; a canceled task is neither.
func TestPausedPlansCompleteWhenResumed(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	plan, tasks := newPlan(t, conn, "a")
	run := began(t, conn, tasks[0])
	exec(t, conn, `UPDATE rowrun.plan SET paused = true WHERE id = $1`, plan)
	end(t, conn, run, "DONE")
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Empty(t, told(t, conn, plan))
	exec(t, conn, `UPDATE rowrun.plan SET paused = false WHERE id = $1`, plan)
	require.Equal(t, []string{"1 PIPELINE_COMPLETED: Pipeline completed successfully"}, told(t, conn, plan), "without a pass")

	plan, tasks = newPlan(t, conn, "a")
	run = began(t, conn, tasks[0])
	exec(t, conn, `UPDATE rowrun.plan SET paused = true WHERE id = $1`, plan)
	end(t, conn, run, "FAILED")
	require.Equal(t, []string{"1 PIPELINE_FAILED: Pipeline failed - Task a failed"}, told(t, conn, plan))

	plan, tasks = newPlan(t, conn, "a", "b")
	end(t, conn, began(t, conn, tasks[0]), "DONE")
	run = began(t, conn, tasks[1])
	exec(t, conn, `SELECT rowrun.cancel_run($1)`, run)
	require.Equal(t, "CANCELED", query[string](t, conn, endOne, run, "FAILED", "stopped"))
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Empty(t, told(t, conn, plan))
}

// A run that was being inserted while its plan was announced as completed belongs to the next round, whether it is
// promoted after the announcement was committed or before.
func TestRunsInsertedBesideTheAnnouncementBeginTheNextRound(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, user := connect(t, url), connect(t, url)
	for _, promotedBefore := range []bool{false, true} {
		plan, tasks := newPlan(t, conn, "a", "b")
		end(t, conn, began(t, conn, tasks[0]), "DONE")
		last := began(t, conn, tasks[1])
		var late int64
		if promotedBefore {
			exec(t, conn, `BEGIN`)
			end(t, conn, last, "DONE")
			late = newRun(t, user, tasks[0])
			require.Equal(t, 1, promote(t, user))
			exec(t, conn, `COMMIT`)
			exec(t, user, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, late)
		} else {
			exec(t, user, `BEGIN`)
			late = newRun(t, user, tasks[0])
			end(t, conn, last, "DONE")
			exec(t, user, `COMMIT`)
			claimed(t, conn, late)
			require.Equal(t, 2, query[int](t, conn, `SELECT round FROM rowrun.plan WHERE id = $1`, plan))
		}
		require.Equal(t, []string{"1 PIPELINE_COMPLETED: Pipeline completed successfully"}, told(t, conn, plan))
		end(t, conn, late, "FAILED")
		require.Equal(t, []string{
			"1 PIPELINE_COMPLETED: Pipeline completed successfully",
			"2 PIPELINE_FAILED: Pipeline failed on retry - Task a failed",
		}, told(t, conn, plan))
	}
}

// A user who holds a plan holds up that plan's next round, its ends and its events, and nothing of any other plan.
func TestAHeldPlanDelaysNoOther(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, user, s := connect(t, url), connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	var plans, tasks, running, next [2]int64
	var busy int64 // the task of running[0]
	for i := range plans {
		plan, of := newPlan(t, conn, "failed", "runs", "marked")
		plans[i], tasks[i] = plan, of[2]
		first := began(t, conn, of[0])
		running[i] = began(t, conn, of[1])
		if i == 0 {
			busy = of[1]
		}
		end(t, conn, first, "FAILED")
		next[i] = query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1 hour') RETURNING id`, of[0])
	}
	status := func(run int64) string {
		return query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, run)
	}
	exec(t, user, `BEGIN; SELECT FROM rowrun.plan WHERE id = `+strconv.FormatInt(plans[0], 10)+` FOR NO KEY UPDATE`)

	exec(t, conn, `UPDATE rowrun.task_run SET run_at = now() WHERE id = ANY ($1)`, next[:])
	promote(t, conn)
	require.Equal(t, "PENDING", status(next[0]))
	require.Equal(t, "AVAILABLE", status(next[1]))

	_, _, err := s.EndRuns(t.Context(), []store.Ending{{ID: running[0], PlanTask: busy}}, 50*time.Millisecond)
	require.Equal(t, "55P03", store.SQLState(err))
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = now() - interval '2 hours'`)
	ended, err := s.EndDeadReplica(t.Context(), "r")
	require.NoError(t, err)
	require.Len(t, ended, 1)
	require.Equal(t, "RUNNING", status(running[0]))
	require.Equal(t, "FAILED", status(running[1]))
	dead, err := s.DeadReplicas(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, []string{"r"}, dead)

	exec(t, conn, `UPDATE rowrun.task SET skipped = true WHERE id = ANY ($1)`, tasks[:])
	promote(t, conn)
	require.Equal(t, 3, query[int](t, conn, `SELECT round FROM rowrun.plan WHERE id = $1`, plans[1]), "the second one failed too")
	require.Equal(t, 1, query[int](t, conn, `SELECT round FROM rowrun.plan WHERE id = $1`, plans[0]))

	exec(t, user, `COMMIT`)
	promote(t, conn)
	require.Equal(t, "AVAILABLE", status(next[0]))
	require.Equal(t, 2, query[int](t, conn, `SELECT round FROM rowrun.plan WHERE id = $1`, plans[0]))
	ended, err = s.EndDeadReplica(t.Context(), "r")
	require.NoError(t, err)
	require.Len(t, ended, 1)
	require.Equal(t, "FAILED", status(running[0]))
}

// Runs that the app took over are ended at their timeouts, but for those of a plan that somebody holds.
func TestOverdueRunsOfAHeldPlanWait(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, user, s := connect(t, url), connect(t, url), openStore(t, url)
	held, of := newPlan(t, conn, "a")
	free, other := newPlan(t, conn, "a")
	for _, task := range []int64{of[0], other[0]} {
		run := began(t, conn, task)
		exec(t, conn, `UPDATE rowrun.task_run SET replica_id = NULL, deadline = now() WHERE id = $1`, run)
	}
	exec(t, user, `BEGIN; SELECT FROM rowrun.plan WHERE id = `+strconv.FormatInt(held, 10)+` FOR NO KEY UPDATE`)
	ended, err := s.EndOverdue(t.Context(), store.Contact{For: time.Hour})
	require.NoError(t, err)
	require.Len(t, ended, 1)
	require.Len(t, told(t, conn, free), 1)
	exec(t, user, `COMMIT`)
	ended, err = s.EndOverdue(t.Context(), store.Contact{For: time.Hour})
	require.NoError(t, err)
	require.Len(t, ended, 1)
	require.Len(t, told(t, conn, held), 1)
}

// Cleanup tells nobody anything, and a plan goes only when nothing is still to be told of it.
func TestCleanupAnnouncesNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	plan, tasks := newPlan(t, conn, "a", "b")
	for range 2 {
		end(t, conn, began(t, conn, tasks[0]), "DONE")
	}
	end(t, conn, began(t, conn, tasks[1]), "FAILED")
	want := []string{"1 PIPELINE_FAILED: Pipeline failed - Task b failed"}
	age(t, conn)
	gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Equal(t, store.Removed{Runs: 1}, gone, "its message is PENDING")
	promote(t, conn)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Equal(t, want, told(t, conn, plan))

	exec(t, conn, `UPDATE rowrun.webhook_delivery SET status = 'DELIVERED', delivered_at = now()`)
	gone, err = s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Equal(t, store.Removed{Plans: 1}, gone)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.webhook_delivery_log`))
	promote(t, conn)
	require.Equal(t, want, told(t, conn, plan), "the message stays until it is old itself")
	exec(t, conn, `UPDATE rowrun.webhook_delivery SET created_at = now() - interval '2 days'`)
	gone, err = s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Zero(t, gone.Deliveries, "delivered just now")
	exec(t, conn, `UPDATE rowrun.webhook_delivery SET delivered_at = created_at, next_attempt_at = created_at`)
	gone, err = s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(1), gone.Deliveries)
}

// A run that was promoted while somebody's skip of its task wasn't committed yet ends beside its plan: nothing is
// announced again for it.
func TestARunOfASkippedTaskBeginsNoRound(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, user := connect(t, url), connect(t, url)
	plan, tasks := newPlan(t, conn, "a", "b")
	end(t, conn, began(t, conn, tasks[0]), "DONE")
	exec(t, user, `BEGIN`)
	exec(t, user, `UPDATE rowrun.task SET skipped = true WHERE id = $1`, tasks[1])
	run := began(t, conn, tasks[1])
	exec(t, user, `COMMIT`)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Len(t, told(t, conn, plan), 1, "complete: one is done, one is skipped")
	end(t, conn, run, "FAILED")
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Len(t, told(t, conn, plan), 1)
	require.Equal(t, 1, query[int](t, conn, `SELECT round FROM rowrun.plan WHERE id = $1`, plan))
}

// A run that waits, at its INSERT, for the end of the task's failed one is filled in before that failure is announced. It
// begins the next round all the same.
func TestARunThatCameWhileItsTaskWasFailingBeginsTheNextRound(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, other, watch := connect(t, url), connect(t, url), connect(t, url)
	plan, tasks := newPlan(t, conn, "a")
	failing := began(t, conn, tasks[0])

	exec(t, conn, `BEGIN`)
	end(t, conn, failing, "FAILED")
	inserted := make(chan error, 1)
	go func() {
		_, err := other.Exec(t.Context(), `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, tasks[0])
		inserted <- err
	}()
	require.Eventually(t, func() bool {
		return query[bool](t, watch, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock')`, int64(other.PgConn().PID()))
	}, 20*time.Second, 5*time.Millisecond)
	exec(t, conn, `COMMIT`)
	require.NoError(t, <-inserted)
	run := query[int64](t, conn, `SELECT id FROM rowrun.task_run WHERE task_id = $1 AND status = 'PENDING' AND round = 1`, tasks[0])
	claimed(t, conn, run)
	end(t, conn, run, "DONE")
	require.Equal(t, []string{"1 PIPELINE_FAILED: Pipeline failed - Task a failed", "2 PIPELINE_COMPLETED: Pipeline completed successfully on retry"},
		told(t, conn, plan))
}
