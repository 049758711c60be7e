package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// plainTask is a task without a plan.
func plainTask(t *testing.T, conn *pgx.Conn, name string) int64 {
	t.Helper()
	return query[int64](t, conn, `INSERT INTO rowrun.task (name, type, max_attempts, retry_delay) VALUES ($1, 'NOOP', 2, '0') RETURNING id`, name)
}

func runAfter(t *testing.T, conn *pgx.Conn, task int64, after ...int64) int64 {
	t.Helper()
	return query[int64](t, conn, `SELECT rowrun.run_task($1::bigint, after => $2)`, task, after)
}

func statusOf(t *testing.T, conn *pgx.Conn, run int64) string {
	t.Helper()
	return query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, run)
}

func whyOf(t *testing.T, conn *pgx.Conn, run int64) string {
	t.Helper()
	return query[string](t, conn, `SELECT coalesce(string_agg(cause || ': ' || message, '; ' ORDER BY cause), '') FROM rowrun.waiting($1)`, run)
}

func TestARunWaitsUntilTheJobsAfterWhichItComesAreDone(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	task := plainTask(t, conn, "load")
	first, second := started(t, conn, task), started(t, conn, task)
	run := runAfter(t, conn, plainTask(t, conn, "publish"), second, first, second)
	require.Equal(t, []int64{first, second}, query[[]int64](t, conn, `SELECT after FROM rowrun.task_run WHERE id = $1`, run))
	require.Equal(t, "DEPENDENCY: waits for 2 runs, first of them run 1 (load), which is RUNNING", whyOf(t, conn, run))
	require.Zero(t, promote(t, conn))
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark`), "their ends know")
	end(t, conn, first, "DONE")
	require.Zero(t, promote(t, conn))
	require.Equal(t, "DEPENDENCY: waits for run 2 (load), which is RUNNING", whyOf(t, conn, run))
	end(t, conn, second, "DONE")
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark`))
	require.Equal(t, 1, promote(t, conn))
	require.Equal(t, "AVAILABLE", statusOf(t, conn, run))
	require.Empty(t, whyOf(t, conn, run))
}

// Every way to end a run leaves the mark: the statement of replicas that a release without this gate sends, too.
func TestWhoeverEndsAJobHasThoseAfterItLookedAt(t *testing.T) {
	t.Parallel()
	for name, done := range map[string]string{
		"by hand":     `UPDATE rowrun.task_run SET status = 'DONE' WHERE id = $1`,
		"by a batch":  `SELECT count(*) FROM rowrun.end_runs(ARRAY[$1::bigint], ARRAY[NULL::uuid], '{DONE}', ARRAY['{}'::jsonb], '{NONE}')`,
		"by one edge": `UPDATE rowrun.task_run r SET status = 'DONE', prev_status = 'RUNNING', edited_directly = NULL, finished_at = clock_timestamp(), updated_at = clock_timestamp(), claim_hash = NULL WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			addReplica(t, conn, "r")
			task := plainTask(t, conn, "")
			job := started(t, conn, task)
			run := runAfter(t, conn, task, job)
			require.Zero(t, promote(t, conn))
			exec(t, conn, done, job)
			require.Equal(t, 1, promote(t, conn))
			require.Equal(t, "AVAILABLE", statusOf(t, conn, run))
		})
	}
}

// The newest attempt of a chain counts, whichever run of it was named.
func TestARunAfterAJobWaitsForItsRetries(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	task := plainTask(t, conn, "load")
	job := started(t, conn, task)
	run := runAfter(t, conn, task, job)
	require.Zero(t, promote(t, conn))
	require.Equal(t, "FAILED", endAs(t, conn, job, failedFor, "FAILURE"))
	retry := query[int64](t, conn, `SELECT retry_run_id FROM rowrun.task_run WHERE id = $1`, job)
	late := runAfter(t, conn, task, retry)
	require.Equal(t, []int64{job}, query[[]int64](t, conn, `SELECT after FROM rowrun.task_run WHERE id = $1`, late))
	require.Zero(t, promote(t, conn))
	claimed(t, conn, retry)
	require.Equal(t, "FAILED", endAs(t, conn, retry, failedFor, "FAILURE"))
	require.Zero(t, promote(t, conn))
	require.Contains(t, whyOf(t, conn, run), "which is FAILED: retry it, or cancel this run")
	again := query[int64](t, conn, `SELECT rowrun.retry_run($1)`, retry)
	require.Contains(t, whyOf(t, conn, late), "which is AVAILABLE")
	claimed(t, conn, again)
	end(t, conn, again, "DONE")
	require.Equal(t, 2, promote(t, conn))
	require.Equal(t, "AVAILABLE AVAILABLE", statusOf(t, conn, run)+" "+statusOf(t, conn, late))
	require.Equal(t, "AVAILABLE", statusOf(t, conn, runAfter(t, conn, task, job)), "what is DONE holds nobody")
}

// A job that is deleted counts as its last status says.
func TestAJobThatIsDeletedCountsAsItEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ends string
		want int
	}{"DONE": {"DONE", 1}, "FAILED": {"FAILED", 0}, "CANCELED": {"CANCELED", 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			addReplica(t, conn, "r")
			task := plainTask(t, conn, "")
			job, other := started(t, conn, task), started(t, conn, task)
			run := runAfter(t, conn, task, job, other)
			exec(t, conn, `UPDATE rowrun.task_run SET status = $2 WHERE id = $1`, job, c.ends)
			exec(t, conn, `DELETE FROM rowrun.task_run WHERE id = $1`, job)
			end(t, conn, other, "DONE")
			require.Equal(t, c.want, promote(t, conn))
			if c.want == 0 {
				require.Contains(t, whyOf(t, conn, run), "which was "+c.ends+" and has been deleted")
				exec(t, conn, `SELECT rowrun.cancel_run($1)`, run)
				again := query[int64](t, conn, `SELECT rowrun.retry_run($1)`, run)
				require.Zero(t, promote(t, conn))
				require.Contains(t, whyOf(t, conn, again), "which was "+c.ends, "a retry waits for the same")
			}
			exec(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE status IN ('PENDING', 'AVAILABLE')`)
			exec(t, conn, `DELETE FROM rowrun.task_run`)
			require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.run_after`))
		})
	}
}

// A job that ends in a transaction that is open when the run is inserted and judged can't see it; the pass sees that.
func TestAJobThatEndsBesideTheInsertIsSeen(t *testing.T) {
	t.Parallel()
	for _, watched := range []string{"nobody else waits", "another one waits"} {
		for _, judged := range []string{"before the end commits", "after the end commits"} {
			t.Run(watched+", judged "+judged, func(t *testing.T) {
				t.Parallel()
				url := storetest.New(t)
				conn, other := connect(t, url), connect(t, url)
				addReplica(t, conn, "r")
				task := plainTask(t, conn, "")
				job := started(t, conn, task)
				want := 1
				if watched == "another one waits" {
					runAfter(t, conn, task, job)
					want++
				}
				require.Zero(t, promote(t, conn))
				exec(t, other, `BEGIN`)
				exec(t, other, `UPDATE rowrun.task_run SET status = 'DONE' WHERE id = $1`, job)
				runAfter(t, conn, task, job)
				if judged == "before the end commits" {
					require.Zero(t, promote(t, conn))
				}
				exec(t, other, `COMMIT`)
				require.Equal(t, want, promote(t, conn))
			})
		}
	}
}

func TestARunIsAfterNothingThatIsNotThere(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	task := plainTask(t, conn, "")
	for name, c := range map[string]struct{ sql, code string }{
		"no such run":  {`SELECT rowrun.run_task($1::bigint, after => '{4711}')`, "23503"},
		"itself":       {`INSERT INTO rowrun.task_run (task_id, after) VALUES ($1, ARRAY[currval('rowrun.task_run_id_seq') + 1])`, "23503"},
		"NULL":         {`SELECT rowrun.run_task($1::bigint, after => '{NULL}')`, "RR003"},
		"too many":     {`SELECT rowrun.run_task($1::bigint, after => array_fill(1::bigint, ARRAY[1001]))`, "RR003"},
		"two lists":    {`SELECT rowrun.run_task($1::bigint, after => '{{1},{2}}')`, "RR003"},
		"changed":      {`UPDATE rowrun.task_run SET after = '{1}' WHERE task_id = $1`, "RR003"},
		"a claimed id": {`SELECT rowrun.run_task($1::bigint, after => '{9223372036854775807}')`, "23503"},
	} {
		t.Run(name, func(t *testing.T) {
			newRun(t, conn, task)
			_, err := conn.Exec(t.Context(), c.sql, task)
			require.Equal(t, c.code, store.SQLState(err), "%v", err)
		})
	}
	require.Equal(t, "AVAILABLE", statusOf(t, conn, runAfter(t, conn, task)), "after an empty list")
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.run_after`))
}

// A run that is to come later waits for its time and for the jobs; whichever is first is no gate any more.
func TestARunAfterOthersWaitsForItsTimeToo(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	task := plainTask(t, conn, "")
	job := started(t, conn, task)
	run := query[int64](t, conn, `SELECT rowrun.run_task($1::bigint, run_at => now() + interval '1 h', after => ARRAY[$2::bigint])`, task, job)
	require.Zero(t, promote(t, conn))
	exec(t, conn, `UPDATE rowrun.task_run SET run_at = now() WHERE id = $1`, run)
	require.Zero(t, promote(t, conn), "it is due, and the job isn't DONE")
	exec(t, conn, `UPDATE rowrun.task_run SET run_at = now() + interval '1 h' WHERE id = $1`, run)
	require.Zero(t, promote(t, conn))
	end(t, conn, job, "DONE")
	require.Zero(t, promote(t, conn), "the job is DONE, and it isn't due")
	require.Regexp(t, "^RUN_AT: due in ", whyOf(t, conn, run))
	exec(t, conn, `UPDATE rowrun.task_run SET run_at = now() WHERE id = $1`, run)
	require.Equal(t, 1, promote(t, conn))
}

// Whoever waits for nobody leaves nothing behind; nor does an INSERT that did nothing, once a sweep has been there.
func TestRunsAfterNothingLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	task := plainTask(t, conn, "")
	promote(t, conn) // the replica that came
	job := started(t, conn, task)
	end(t, conn, job, "DONE")
	require.Zero(t, query[int](t, conn, `SELECT (SELECT count(*) FROM rowrun.gate_mark) + (SELECT count(*) FROM rowrun.run_after)`))
	held := started(t, conn, task)
	for range 2 {
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id, idempotency_key, after) VALUES ($1, 'k', ARRAY[$2::bigint]) ON CONFLICT DO NOTHING`, task, held)
	}
	require.Equal(t, 2, query[int](t, conn, `SELECT count(*) FROM rowrun.run_after`))
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.run_after`))
	end(t, conn, held, "DONE")
	exec(t, conn, `DELETE FROM rowrun.gate_mark`)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING'`), "a sweep finds what has lost its mark")
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.run_after WHERE open`))
}

// A client inserts runs after others; what it may not do is write who waits for whom, or wait for runs in somebody else's name.
func TestAClientRunsTasksAfterOthers(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	task := plainTask(t, conn, "")
	job := started(t, conn, task)
	other := newRun(t, conn, task)
	exec(t, conn, `SET ROLE rowrun_client`)
	run := runAfter(t, conn, task, job)
	require.Contains(t, whyOf(t, conn, run), "DEPENDENCY")
	exec(t, conn, `SELECT rowrun.await_runs($1, ARRAY[$2::bigint], NULL)`, other, job)
	for _, sql := range []string{
		`INSERT INTO rowrun.run_after (run_id, root_id) VALUES (1, 1)`, `DELETE FROM rowrun.run_after`, `UPDATE rowrun.task_run SET awaited = true`,
		`UPDATE rowrun.run_after SET outcome = 'FAILED'`, `SELECT rowrun.watch_awaited('{1}', '{DEPENDENCY}')`, `SELECT rowrun.mark_awaiting(1)`,
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.Equal(t, "42501", store.SQLState(err), sql)
	}
	exec(t, conn, `RESET ROLE`)
	require.Equal(t, []int64{run}, all[int64](t, conn, `SELECT run_id FROM rowrun.run_after`))
}

// What a run waits for is what its own row says: who inserts runs may leave rows for ids that the next ones get.
func TestNobodyHasRunsToComeWaitForMore(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	task := plainTask(t, conn, "")
	job, never := started(t, conn, task), started(t, conn, task)
	exec(t, conn, `SET ROLE rowrun_client`)
	exec(t, conn, `SELECT rowrun.await_runs(n, ARRAY[$1::bigint], NULL) FROM generate_series($1::bigint + 1, $1 + 10) n`, never)
	exec(t, conn, `RESET ROLE`)
	run := runAfter(t, conn, task, job)
	require.Equal(t, "DEPENDENCY: waits for run 1, which is RUNNING", whyOf(t, conn, run))
	end(t, conn, job, "DONE")
	require.Equal(t, 1, promote(t, conn))
	require.Equal(t, "AVAILABLE", statusOf(t, conn, run))
}
