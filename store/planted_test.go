package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Each function finds its names where we put them: its body was bound when it was made, or it brings its search_path.
func TestEveryFunctionPinsWhereItsNamesAreFound(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	require.Greater(t, query[int](t, conn, `SELECT count(*) FROM pg_proc WHERE pronamespace = 'rowrun'::regnamespace`), 80)
	require.Empty(t, all[string](t, conn, `SELECT p.oid::regprocedure::text FROM pg_proc p
		WHERE p.pronamespace = 'rowrun'::regnamespace AND p.prosqlbody IS NULL
		  AND NOT coalesce(p.proconfig @> ARRAY['search_path=pg_catalog, rowrun, pg_temp'], false) ORDER BY 1`))
	require.Empty(t, all[string](t, conn, `SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
		WHERE p.pronamespace = 'rowrun'::regnamespace AND p.prosecdef AND p.proconfig IS NULL ORDER BY 1`),
		"one with its owner's rights calls plain functions, which look where it does")
}

// plant makes, for each name that a body of ours uses, functions and operators of many signatures in a schema that a
// session looks into before any other. Each notes that it was called.
func plant(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	exec(t, conn, `CREATE SCHEMA planted; CREATE TABLE public.caught (what text, who text); GRANT INSERT ON public.caught TO PUBLIC`)
	exec(t, conn, `GRANT USAGE ON SCHEMA planted TO PUBLIC`)
	exec(t, conn, `CREATE FUNCTION public.note(what text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS
		$$ BEGIN INSERT INTO public.caught VALUES (what, session_user); RAISE EXCEPTION 'planted: %', what; END $$`)
	types := []string{"text", "bigint", "integer", "boolean", "jsonb", "timestamptz", "interval", "numeric", "double precision", "text[]", "bigint[]"}
	names := all[string](t, conn, `SELECT DISTINCT m[1] FROM pg_proc p CROSS JOIN LATERAL regexp_matches(coalesce(nullif(p.prosrc, ''), pg_get_functiondef(p.oid)), '\m([a-z_0-9]+)\(', 'g') m
		WHERE p.pronamespace = 'rowrun'::regnamespace AND EXISTS (SELECT FROM pg_proc c WHERE c.proname = m[1] AND c.prokind = 'f' AND c.pronamespace IN ('pg_catalog'::regnamespace, 'rowrun'::regnamespace))
		ORDER BY 1`)
	require.Greater(t, len(names), 60)
	var sql strings.Builder
	for _, name := range names {
		lists := []string{""}
		for _, a := range types {
			lists = append(lists, a)
			for _, b := range types {
				lists = append(lists, a+", "+b)
			}
		}
		for _, list := range lists {
			fmt.Fprintf(&sql, "CREATE FUNCTION planted.%q(%s) RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM public.note(''%s(%s)''); RETURN NULL; END';\n", name, list, name, list)
		}
	}
	for _, op := range []string{"=", "<>", "<", ">", "<=", ">=", "+", "-", "*", "/", "||", "->", "->>", "?", "?|", "&", "|", "<<", ">>", "~", "!~", "~~"} {
		for _, a := range types {
			for _, b := range types {
				fmt.Fprintf(&sql, "CREATE FUNCTION planted.\"op %[1]s\"(%[2]s, %[3]s) RETURNS %[4]s LANGUAGE plpgsql AS 'BEGIN PERFORM public.note(''%[2]s %[1]s %[3]s''); RETURN NULL; END';\n"+
					"CREATE OPERATOR planted.%[1]s (FUNCTION = planted.\"op %[1]s\", LEFTARG = %[2]s, RIGHTARG = %[3]s);\n", op, a, b, result(op, a))
			}
		}
	}
	exec(t, conn, sql.String())
}

// result is what a planted operator returns: what a condition or a computation would take.
func result(op, left string) string {
	if strings.ContainsAny(op, "=<>?~") && op != "->" && op != "->>" && op != "<<" && op != ">>" {
		return "boolean"
	}
	return left
}

// What somebody has planted is executed by nobody who calls us, not even by a superuser who looks there first.
func TestPlantedFunctionsAndOperatorsAreNeverCalled(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner := connect(t, url)
	plant(t, owner)
	conn := connect(t, url)
	exec(t, conn, `SET search_path = planted, public, pg_catalog, rowrun`)
	_, err := conn.Exec(t.Context(), `SELECT 1 || 'a'::text, lower('A'::text)`)
	require.ErrorContains(t, err, "planted", "nothing is planted: nothing is tested")

	addReplica(t, owner, "r")
	exec(t, conn, `SELECT rowrun.define_task('job', 'NOOP', '{"a": 1}', max_attempts => 3)`)
	exec(t, conn, `SELECT rowrun.define_task('job', 'NOOP', '{"a": 2}', database_id => 'a', version => '1.2')`)
	exec(t, conn, `INSERT INTO rowrun.task (name, type, schedule, time_zone) VALUES ('cron', 'NOOP', '*/5 9-17 * * MON-FRI', 'Europe/London'), ('every', 'NOOP', '@every 1h30m', 'UTC')`)
	exec(t, conn, `INSERT INTO rowrun.webhook (url) VALUES ('http://localhost/')`)
	exec(t, conn, `SELECT rowrun.run_task('job'), rowrun.run_task('job', '{"b": 1}', idempotency_key => 'k'), rowrun.run_task('job', idempotency_key => 'k')`)
	exec(t, conn, `SELECT rowrun.enqueue_many('job', '[{}, {"c": 1}]'), rowrun.replace_run('job', 'k', '{"d": 1}'), rowrun.run_tasks('{1}')`)
	exec(t, conn, `SELECT * FROM rowrun.waiting()`)
	exec(t, conn, `INSERT INTO rowrun.plan (name, parallel_limit) VALUES ('p', 2)`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, name, type) VALUES (1, 'one', 'NOOP'), (1, 'two', 'NOOP'), (1, 'three', 'NOOP')`)
	exec(t, conn, `INSERT INTO rowrun.task_dependency SELECT a.id, b.id FROM rowrun.task a, rowrun.task b WHERE a.name OPERATOR(pg_catalog.=) 'two'::text AND b.name OPERATOR(pg_catalog.=) 'one'::text`)
	exec(t, conn, `SELECT rowrun.run_plan(1)`)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status OPERATOR(pg_catalog.=) 'AVAILABLE'::text`)
	exec(t, conn, `SELECT rowrun.end_runs(ARRAY[id], ARRAY[NULL::uuid], ARRAY['FAILED'], ARRAY['{"code": "ERROR"}'::jsonb], ARRAY['FAILURE'])
		FROM rowrun.task_run WHERE status OPERATOR(pg_catalog.=) 'RUNNING'::text`)
	exec(t, conn, `SELECT rowrun.promote_runs(true), rowrun.promote_next_version('{a}'), rowrun.schedule_sweep(0, 100), rowrun.record_orphans('0', '0')`)
	exec(t, conn, `SELECT rowrun.retry_plan(1), rowrun.cancel_plan(1, 'no'), rowrun.skip_task(id, 'no') FROM rowrun.task WHERE name OPERATOR(pg_catalog.=) 'three'::text`)
	exec(t, conn, `SELECT rowrun.cancel_run(id) FROM rowrun.task_run`)
	exec(t, conn, `UPDATE rowrun.task SET schedule = '@daily', paused = true WHERE name OPERATOR(pg_catalog.=) 'cron'::text`)
	exec(t, conn, `SELECT rowrun.delete_task(id) FROM rowrun.task WHERE name OPERATOR(pg_catalog.=) 'every'::text`)
	exec(t, conn, `SELECT * FROM rowrun.job; SELECT * FROM rowrun.task_status; SELECT * FROM rowrun.plan_status; SELECT * FROM rowrun.replica_status; SELECT * FROM rowrun.failed_run; SELECT * FROM rowrun.orphan_task_run`)
	require.Empty(t, all[string](t, owner, `SELECT what || ' as ' || who FROM public.caught`))
}

// Times that stand in rows never suggest that more ran at once than the order of commits allows: what an end lets
// through became AVAILABLE after that end.
func TestTimesNeverSuggestAnOverlap(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner := connect(t, url)
	addReplica(t, owner, "r")
	exec(t, owner, `UPDATE rowrun.replica_heartbeat SET types = '{NOOP}'`)
	count := storetest.Count(600, 10000)
	exec(t, owner, `INSERT INTO rowrun.plan (parallel_limit) VALUES (5)`)
	exec(t, owner, `INSERT INTO rowrun.task (plan_id, type) SELECT 1, 'NOOP' FROM generate_series(1, $1::int)`, count)
	exec(t, owner, `SELECT rowrun.run_plan(1)`)
	s := open(t, url, time.Minute)
	stop := make(chan struct{})
	promoted := make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				promoted <- nil
				return
			default:
			}
			if _, err := owner.Exec(t.Context(), `SELECT rowrun.promote_runs(true)`); err != nil {
				promoted <- err
				return
			}
		}
	}()
	ended := make(chan error, 3)
	for range 3 {
		conn := connect(t, url)
		go func() { ended <- endAll(t, s, conn, count) }()
	}
	for range 3 {
		require.NoError(t, <-ended)
	}
	close(stop)
	require.NoError(t, <-promoted)
	require.Equal(t, int64(count), query[int64](t, owner, `SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`))
	// Of moments that are equal the end counts first: a slot is taken when it is free.
	require.Equal(t, int64(5), query[int64](t, owner, `SELECT max(n) FROM (
		SELECT sum(d) OVER (ORDER BY at, d) AS n FROM (
			SELECT available_at AS at, 1 AS d FROM rowrun.task_run UNION ALL SELECT finished_at, -1 FROM rowrun.task_run) e) o`))
}

// endAll claims and ends runs until all have ended.
func endAll(t *testing.T, s *store.Store, conn *pgx.Conn, count int) error {
	t.Helper()
	const take = `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = ANY (ARRAY(
		SELECT id FROM rowrun.task_run WHERE status = 'AVAILABLE' LIMIT 1 FOR UPDATE SKIP LOCKED)) RETURNING id, task_id`
	for {
		var id, task int64
		err := conn.QueryRow(t.Context(), take).Scan(&id, &task)
		switch {
		case err == nil:
			_, _, err = s.EndRuns(t.Context(), []store.Ending{{ID: id, PlanTask: task}}, 0)
		case errors.Is(err, pgx.ErrNoRows):
			var done int
			err = conn.QueryRow(t.Context(), `SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`).Scan(&done)
			if err == nil && done == count {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}
