package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// refused is the SQLSTATE and message of what the server refused.
func refused(t *testing.T, conn *pgx.Conn, sql string, args ...any) (code, message string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, args...)
	var e *pgconn.PgError
	require.ErrorAs(t, err, &e, sql)
	return e.Code, e.Message
}

func ids(t *testing.T, conn *pgx.Conn, sql string, args ...any) []int64 {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(t, err)
	return found
}

// statuses are those of a plan's tasks, in order.
func statuses(t *testing.T, conn *pgx.Conn, plan int64) string {
	t.Helper()
	return query[string](t, conn, `SELECT string_agg(status, ' ' ORDER BY task_id) FROM rowrun.task_status WHERE plan_id = $1`, plan)
}

// run_plan starts what never ran, retry_plan what failed or was canceled, cancel_plan ends what is unfinished.
func TestPlanAsAWhole(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	plan, tasks := newPlan(t, conn, "done", "failed", "canceled", "skipped", "running", "waiting", "new")
	end(t, conn, began(t, conn, tasks[0]), "DONE")
	failed := began(t, conn, tasks[1])
	end(t, conn, failed, "FAILED")
	canceled := newRun(t, conn, tasks[2])
	exec(t, conn, `SELECT rowrun.cancel_run($1)`, canceled)
	exec(t, conn, `SELECT rowrun.skip_task($1)`, tasks[3])
	running := began(t, conn, tasks[4])
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1 hour')`, tasks[5])
	require.Equal(t, "DONE FAILED CANCELED SKIPPED RUNNING PENDING NOT_STARTED", statuses(t, conn, plan))
	require.Equal(t, "FAILED 7 1 1 0 1 1 1 1 1", query[string](t, conn, `SELECT concat_ws(' ', status, tasks, not_started, pending, available, running,
		done, skipped, failed, canceled) FROM rowrun.plan_status WHERE plan_id = $1`, plan))

	require.Len(t, ids(t, conn, `SELECT rowrun.run_plan($1)`, plan), 1)
	require.Empty(t, ids(t, conn, `SELECT rowrun.run_plan($1)`, plan))
	retried := ids(t, conn, `SELECT rowrun.retry_plan($1)`, plan)
	require.Len(t, retried, 2)
	require.Empty(t, ids(t, conn, `SELECT rowrun.retry_plan($1)`, plan))
	require.Equal(t, []int64{failed, canceled}, ids(t, conn, `SELECT retry_of FROM rowrun.task_run WHERE id = ANY ($1) AND attempt = 1 ORDER BY id`, retried))
	require.Equal(t, "DONE PENDING PENDING SKIPPED RUNNING PENDING PENDING", statuses(t, conn, plan))

	require.Equal(t, int64(5), query[int64](t, conn, `SELECT rowrun.cancel_plan($1, 'enough')`, plan))
	require.Equal(t, int64(0), query[int64](t, conn, `SELECT rowrun.cancel_plan($1)`, plan))
	require.Equal(t, "DONE CANCELED CANCELED SKIPPED RUNNING CANCELED CANCELED", statuses(t, conn, plan))
	require.Equal(t, "CANCELED", query[string](t, conn, endOne, running, "FAILED", "stopped"))
	require.Equal(t, 5, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE cancel_reason = 'enough'`))

	for _, f := range []string{"run_plan", "retry_plan", "cancel_plan", "skip_task", "unskip_task"} {
		code, message := refused(t, conn, `SELECT rowrun.`+f+`(4711)`)
		require.Equal(t, "P0002", code)
		require.Contains(t, message, "4711 does not exist")
		code, _ = refused(t, conn, `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT rowrun.`+f+`(1)`)
		require.Equal(t, "25000", code)
		exec(t, conn, `ROLLBACK`)
	}
}

// Asked for twice at the same moment it makes one set of runs, also where they run at once.
func TestPlanTwiceAtOnceMakesOneSetOfRuns(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	users := []*pgx.Conn{connect(t, url), connect(t, url), connect(t, url)}
	both := func(sql string, plan int64) (made int) {
		var ready, done sync.WaitGroup
		var mu sync.Mutex
		var errs []error
		ready.Add(len(users))
		for _, user := range users {
			done.Go(func() {
				ready.Done()
				ready.Wait()
				tag, err := user.Exec(t.Context(), sql, plan)
				mu.Lock()
				defer mu.Unlock()
				made += int(tag.RowsAffected())
				errs = append(errs, err)
			})
		}
		done.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		return made
	}
	for range storetest.Count(10, 100) {
		plan, _ := newPlan(t, conn)
		exec(t, conn, `INSERT INTO rowrun.task (plan_id, type) SELECT $1, 'NOOP' FROM generate_series(1, 20)`, plan)
		require.Equal(t, 20, both(`SELECT rowrun.run_plan($1)`, plan))
		exec(t, conn, `SELECT rowrun.cancel_plan($1)`, plan)
		require.Equal(t, 20, both(`SELECT rowrun.retry_plan($1)`, plan))
		require.Equal(t, 40, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE plan_id = $1`, plan))
	}
}

// Skipping waits for a promotion that is under way, and is refused if that came first; twice is once.
func TestSkippingIsRefusedWhileUnderWay(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, user, watch := connect(t, url), connect(t, url), connect(t, url)
	_, tasks := newPlan(t, conn, "a", "b")
	for i, skip := range []string{`SELECT rowrun.skip_task($1)`, `UPDATE rowrun.task SET skipped = true WHERE id = $1`} {
		newRun(t, conn, tasks[i])
		exec(t, conn, `BEGIN; SELECT rowrun.promote_runs()`)
		answer := make(chan error, 1)
		go func() {
			_, err := user.Exec(t.Context(), skip, tasks[i])
			answer <- err
		}()
		require.Eventually(t, func() bool {
			return query[bool](t, watch, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock')`, int64(user.PgConn().PID()))
		}, 20*time.Second, 5*time.Millisecond)
		exec(t, conn, `COMMIT`)
		require.ErrorContains(t, <-answer, "RR004")
	}

	exec(t, conn, `SELECT rowrun.cancel_run(id) FROM rowrun.task_run`)
	waits := newRun(t, conn, tasks[0])
	exec(t, conn, `SELECT rowrun.skip_task($1, 'not here')`, tasks[0])
	exec(t, conn, `SELECT rowrun.skip_task($1)`, tasks[0])
	require.Equal(t, "CANCELED", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, waits))
	require.Equal(t, "not here", query[string](t, conn, `SELECT skip_reason FROM rowrun.task WHERE id = $1`, tasks[0]))
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, tasks[0])
	promote(t, conn)
	require.Equal(t, 3, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE task_id = $1 AND status = 'CANCELED'`, tasks[0]), "the promotion cancels it")
	exec(t, conn, `SELECT rowrun.unskip_task($1)`, tasks[0])
	exec(t, conn, `SELECT rowrun.unskip_task($1)`, tasks[0])
	require.Empty(t, query[string](t, conn, `SELECT coalesce(skip_reason, '') FROM rowrun.task WHERE id = $1`, tasks[0]))
}

const depend = `INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES ($1, $2)`

// Dependencies across plans and in circles are refused, the circle named; large plans pass quickly.
func TestDependenciesInACircleAreRefused(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	_, a := newPlan(t, conn, "a", "b", "", "d")
	_, other := newPlan(t, conn, "a")
	code, message := refused(t, conn, depend, a[0], other[0])
	require.Equal(t, "RR003", code)
	require.Contains(t, message, "not of one plan")
	exec(t, conn, depend, a[0], a[1])
	exec(t, conn, depend, a[1], a[2])
	exec(t, conn, depend, a[3], a[2])
	code, message = refused(t, conn, depend, a[2], a[0])
	require.Equal(t, "RR003", code)
	require.Equal(t, fmt.Sprintf("dependencies in a circle: task %d (a) -> %d (b) -> %d -> %d (a)", a[0], a[1], a[2], a[0]), message)
	code, _ = refused(t, conn, `UPDATE rowrun.task_dependency SET task_id = $2, depends_on_id = $3 WHERE task_id = $1`, a[3], a[2], a[0])
	require.Equal(t, "RR003", code)
	code, _ = refused(t, conn, depend, a[0], a[0])
	require.Equal(t, "23514", code)
	code, _ = refused(t, conn, `INSERT INTO rowrun.task_dependency SELECT $1::bigint, $2::bigint UNION ALL SELECT $2, $3::bigint UNION ALL SELECT $3, $1`, a[2], a[3], other[0])
	require.Equal(t, "RR003", code)
	code, message = refused(t, conn, `UPDATE rowrun.task SET plan_id = (SELECT plan_id FROM rowrun.task WHERE id = $2) WHERE id = $1`, a[0], other[0])
	require.Equal(t, "RR003", code)
	require.Contains(t, message, "has dependencies")

	plan, _ := newPlan(t, conn)
	all := ids(t, conn, `INSERT INTO rowrun.task (plan_id, type) SELECT $1, 'NOOP' FROM generate_series(1, 5000) RETURNING id`, plan)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := conn.Exec(ctx, `INSERT INTO rowrun.task_dependency SELECT i, i - s FROM unnest($1::bigint[]) i, generate_series(1, 3) s WHERE i - s >= $2`, all, all[0])
	require.NoError(t, err)
	code, message = refused(t, conn, depend, all[0], all[len(all)-1])
	require.Equal(t, "RR003", code)
	require.Contains(t, message, "-> ... (")
	require.Less(t, len(message), 400)
}

// An upsert sets both columns, to what they are.
func TestADependencyIsUpsertedAndNotChanged(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, conn := connect(t, url), inRole(t, url, "rowrun_client")
	_, a := newPlan(t, owner, "a", "b", "c")
	const upsert = depend + ` ON CONFLICT (task_id, depends_on_id) DO UPDATE SET task_id = EXCLUDED.task_id, depends_on_id = EXCLUDED.depends_on_id RETURNING task_id`
	require.Equal(t, a[0], query[int64](t, conn, upsert, a[0], a[1]))
	exec(t, owner, `DELETE FROM rowrun.gate_mark`)
	require.Equal(t, a[0], query[int64](t, conn, upsert, a[0], a[1]))
	require.Zero(t, query[int](t, owner, `SELECT count(*) FROM rowrun.gate_mark`), "nothing has changed")
	code, _ := refused(t, conn, `UPDATE rowrun.task_dependency SET depends_on_id = $3 WHERE task_id = $1 AND depends_on_id = $2`, a[0], a[1], a[2])
	require.Equal(t, "RR003", code)
	exec(t, owner, `UPDATE rowrun.task_dependency SET depends_on_id = $3 WHERE task_id = $1 AND depends_on_id = $2`, a[0], a[1], a[2])
}

// Two edges that close a circle together, inserted at once: one of them is refused, in whatever isolations.
func TestTwoDependenciesAtOnceCloseNoCircle(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, other := connect(t, url), connect(t, url)
	levels := []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}
	for _, first := range levels {
		for _, second := range levels {
			_, a := newPlan(t, conn, "a", "b")
			exec(t, conn, `BEGIN ISOLATION LEVEL `+first)
			exec(t, other, `BEGIN ISOLATION LEVEL `+second+`; SELECT count(*) FROM rowrun.task_dependency`)
			exec(t, conn, depend, a[0], a[1])
			answer := make(chan error, 1)
			go func() {
				_, err := other.Exec(t.Context(), depend, a[1], a[0])
				answer <- err
			}()
			watch := connect(t, url)
			require.Eventually(t, func() bool {
				return query[bool](t, watch, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock')`, int64(other.PgConn().PID()))
			}, 20*time.Second, 5*time.Millisecond)
			exec(t, conn, `COMMIT`)
			want := "40001"
			if second == "READ COMMITTED" {
				want = "RR003"
			}
			require.Equal(t, want, store.SQLState(<-answer), "%s, %s", first, second)
			exec(t, other, `ROLLBACK`)
		}
	}
}

// An edge that an older snapshot doesn't have closes none either, nor do waves.
func TestAnOldSnapshotClosesNoCircle(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, old := connect(t, url), connect(t, url)
	for _, level := range []string{"REPEATABLE READ", "SERIALIZABLE"} {
		for _, meanwhile := range []string{
			`INSERT INTO rowrun.task_dependency VALUES ($1, $2)`,
			`SELECT rowrun.add_waves((SELECT plan_id FROM rowrun.task WHERE id = $1), jsonb_build_array(jsonb_build_object('tasks', ARRAY[$2::bigint]), jsonb_build_object('tasks', ARRAY[$1::bigint])))`,
		} {
			_, a := newPlan(t, conn, "a", "b")
			exec(t, old, `BEGIN ISOLATION LEVEL `+level+`; SELECT count(*) FROM rowrun.task_dependency`)
			exec(t, conn, meanwhile, a[0], a[1])
			code, _ := refused(t, old, depend, a[1], a[0])
			require.Equal(t, "40001", code, meanwhile)
			exec(t, old, `ROLLBACK`)
		}
		// Whoever makes a plan is alone with it.
		exec(t, old, `BEGIN ISOLATION LEVEL `+level)
		exec(t, old, `SELECT rowrun.create_plan('p', '[{"name": "a", "type": "NOOP"}, {"name": "b", "type": "NOOP", "depends_on": ["a"]}]')`)
		exec(t, old, `COMMIT`)
	}
}

// What a task waits for is fixed while its run is AVAILABLE or RUNNING.
func TestDependenciesOfARunUnderWayAreFixed(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	_, tasks := newPlan(t, conn, "a", "b", "c")
	exec(t, conn, depend, tasks[1], tasks[0])
	end(t, conn, began(t, conn, tasks[0]), "DONE")
	run := newRun(t, conn, tasks[1])
	promote(t, conn)
	for range 2 {
		for _, change := range []string{
			`INSERT INTO rowrun.task_dependency VALUES ($2, $3)`,
			`UPDATE rowrun.task_dependency SET depends_on_id = $3 WHERE task_id = $2`,
			`UPDATE rowrun.task_dependency SET task_id = $3 WHERE task_id = $2`,
			`DELETE FROM rowrun.task_dependency WHERE task_id = $2 AND $3 > 0`,
		} {
			code, message := refused(t, conn, strings.NewReplacer("$2", "$1", "$3", "$2").Replace(change), tasks[1], tasks[2])
			require.Equal(t, "RR005", code, change)
			require.Contains(t, message, fmt.Sprint("task ", tasks[1]))
		}
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1 AND status = 'AVAILABLE'`, run)
	}
	exec(t, conn, `DELETE FROM rowrun.task WHERE id = $1`, tasks[0])
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_dependency`), "edges go with a task that isn't under way")
	code, _ := refused(t, conn, `DELETE FROM rowrun.plan`)
	require.Equal(t, "RR006", code)
	end(t, conn, run, "DONE")
	exec(t, conn, depend, tasks[1], tasks[2])
	exec(t, conn, `DELETE FROM rowrun.plan`)
}

// The status of a large plan is found without reading any other's runs, and says the same as its tasks' do.
func TestPlanStatusReadsOnlyItsPlan(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.plan SELECT FROM generate_series(1, 20)`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, type) SELECT p.id, 'NOOP' FROM rowrun.plan p, generate_series(1, 200)`)
	exec(t, conn, `SELECT count(*) FROM rowrun.plan p CROSS JOIN LATERAL rowrun.run_plan(p.id)`)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id % 7 <> 0; ANALYZE`)
	rows, err := conn.Query(t.Context(), `EXPLAIN SELECT * FROM rowrun.plan_status WHERE plan_id = 7`)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(lines, func(l string) bool {
		return strings.Contains(l, "Seq Scan on task") || strings.Contains(l, "Seq Scan on task_run")
	}), strings.Join(lines, "\n"))
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.plan_status p WHERE ROW(p.tasks, p.pending, p.canceled) <>
		(SELECT count(*), count(*) FILTER (WHERE status = 'PENDING'), count(*) FILTER (WHERE status = 'CANCELED') FROM rowrun.task_status s WHERE s.plan_id = p.plan_id)`))
}

// A person's session compiles large statements (jit), which would take longer than the answer.
func TestWhoAsksWhatRunsWaitForHasASmallStatement(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	rows, err := conn.Query(t.Context(), `EXPLAIN SELECT * FROM rowrun.waiting()`)
	require.NoError(t, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Less(t, len(plan), 20, "the causes are a part of it:\n%s", strings.Join(plan, "\n"))
}

// What people are told of runs that wait.
func TestWaitingSpeaksToPeople(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	says := func(run int64) string {
		return query[string](t, conn, `SELECT string_agg(cause || ': ' || message, '; ' ORDER BY cause) FROM rowrun.waiting($1)`, run)
	}
	detail := func(run int64, key string) string {
		return query[string](t, conn, `SELECT coalesce(string_agg(detail ->> $2, ''), '') FROM rowrun.waiting($1)`, run, key)
	}
	addReplica(t, conn, "r")
	versions := map[string]int64{}
	for _, v := range []string{"1.9", "1.9.5", "1.9.7", "1.10"} {
		versions[v] = newRun(t, conn, query[int64](t, conn, `INSERT INTO rowrun.task (type, database_id, version) VALUES ('NOOP', 'orders', $1) RETURNING id`, v))
	}
	claimed(t, conn, versions["1.9"])
	require.Equal(t, fmt.Sprintf("VERSION: version 1.9 is RUNNING on orders (run %d); 2 earlier versions wait", versions["1.9"]), says(versions["1.10"]))
	require.Equal(t, fmt.Sprint(versions["1.9"]), detail(versions["1.10"], "run_id"))
	require.Equal(t, fmt.Sprintf("[%d, %d]", versions["1.9.5"], versions["1.9.7"]), detail(versions["1.10"], "waiting_run_ids"))
	require.Equal(t, fmt.Sprintf("VERSION: version 1.9 is RUNNING on orders (run %d); 1 earlier version waits", versions["1.9"]), says(versions["1.9.7"]))

	plan, tasks := newPlan(t, conn, "a", "b", "c")
	exec(t, conn, `UPDATE rowrun.plan SET parallel_limit = 2 WHERE id = $1`, plan)
	runs := ids(t, conn, `SELECT rowrun.run_tasks($1)`, tasks)
	promote(t, conn)
	require.Equal(t, fmt.Sprintf("PLAN_LIMIT: plan %d: 2 of 2 slots taken", plan), says(runs[2]))
	require.Equal(t, fmt.Sprintf("[%d, %d]", runs[0], runs[1]), detail(runs[2], "run_ids"))

	mail := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('EMAIL') RETURNING id`)
	late := query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, clock_timestamp() + interval '130.9 s') RETURNING id`, mail)
	require.Equal(t, "RUN_AT: due in 2 min 10 s", says(late))
	now := newRun(t, conn, mail)
	promote(t, conn)
	require.Equal(t, "NO_REPLICA: no live replica runs type EMAIL", says(now))
}
