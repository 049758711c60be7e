package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// ended is a run that ended so long ago.
func ended(t *testing.T, conn *pgx.Conn, task int64, ago string) int64 {
	t.Helper()
	run := newRun(t, conn, task)
	finish(t, conn, run, "DONE")
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica;
		UPDATE rowrun.task_run SET created_at = now() - interval '`+ago+`', finished_at = now() - interval '`+ago+`' WHERE id = `+fmt.Sprint(run)+`;
		COMMIT`)
	return run
}

// A task's own retention goes before the sidecar's, in both directions; 0 keeps for ever.
func TestRetentionOfATask(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	kept := map[string][]int64{}
	var want []int64
	for _, retention := range []string{"NULL", "'1 hour'", "'10 days'", "'0'"} {
		task := query[int64](t, conn, `INSERT INTO rowrun.task (type, retention) VALUES ('NOOP', `+retention+`) RETURNING id`)
		for _, ago := range []string{"10 min", "2 hours", "2 days", "20 days"} {
			kept[retention] = append(kept[retention], ended(t, conn, task, ago))
		}
	}
	for retention, n := range map[string]int{"NULL": 2, "'1 hour'": 1, "'10 days'": 3, "'0'": 4} {
		want = append(want, kept[retention][:n]...)
	}
	gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(6), gone.Runs)
	require.ElementsMatch(t, want, left(t, conn))

	// What is set later holds at once where it is longer; a shorter one holds for runs inserted after it, others wait for
	// the sidecar's.
	exec(t, conn, `UPDATE rowrun.task SET retention = CASE WHEN retention IS NULL THEN interval '1 hour' WHEN retention = '10 days' THEN interval '0' END
		WHERE retention IS DISTINCT FROM '0'`)
	gone, err = s.RemoveOld(t.Context(), store.Retention{Runs: time.Minute}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(1+1), gone.Runs, "that of 2 hours whose task keeps 1, that of 10 min whose task has none any more")
	require.ElementsMatch(t, append(append([]int64{kept["NULL"][0]}, kept["'10 days'"][:3]...), kept["'0'"]...), left(t, conn))
}

// Chains go as a whole, and more runs than one statement takes go too.
func TestRetentionOfATaskRemovesWholeChains(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type, retention) VALUES ('NOOP', '1 hour') RETURNING id`)
	first, open := newRun(t, conn, task), newRun(t, conn, task)
	finish(t, conn, first, "FAILED")
	finish(t, conn, open, "FAILED")
	second := query[int64](t, conn, `SELECT rowrun.retry_run($1)`, first)
	finish(t, conn, second, "DONE")
	pending := query[int64](t, conn, `SELECT rowrun.retry_run($1)`, open)
	lost := newRun(t, conn, task)
	finish(t, conn, lost, "FAILED")
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica;
		INSERT INTO rowrun.task_run (task_id, root_id, status, priority, creator, type, queue, sequential, own_retention, finished_at)
		SELECT task_id, id, 'DONE', 0, 'x', 'NOOP', 'default', false, true, now() FROM rowrun.task_run, generate_series(1, 2500) WHERE id = `+fmt.Sprint(lost)+`;
		COMMIT`)
	age(t, conn)

	gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 240 * time.Hour}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(2503), gone.Runs)
	require.Equal(t, []int64{open, pending}, left(t, conn))
}

// Of a plan's task the run that tells how it stands stays, and the plan stays for the longest of all retentions.
func TestRetentionOfATaskNeverChangesAPlan(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	var last []int64
	plans := map[string]int64{}
	for _, retention := range []string{"'1 hour'", "'10 days'", "'0'"} {
		plan := query[int64](t, conn, `INSERT INTO rowrun.plan (project) VALUES ($1) RETURNING id`, retention)
		task := query[int64](t, conn, `INSERT INTO rowrun.task (plan_id, type, retention) VALUES ($1, 'NOOP', `+retention+`) RETURNING id`, plan)
		finish(t, conn, newRun(t, conn, task), "FAILED")
		again := newRun(t, conn, task)
		finish(t, conn, again, "DONE")
		last, plans[retention] = append(last, again), plan
	}
	age(t, conn)
	before := query[string](t, conn, `SELECT string_agg(plan_id || status, ' ' ORDER BY plan_id) FROM rowrun.plan_status`)
	gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 5 * 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(1), gone.Runs, "the earlier run of the task that keeps an hour")
	require.Zero(t, gone.Plans)
	require.Subset(t, left(t, conn), last)
	require.Equal(t, before, query[string](t, conn, `SELECT string_agg(plan_id || status, ' ' ORDER BY plan_id) FROM rowrun.plan_status`))

	gone, err = s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(1), gone.Plans)
	require.Equal(t, []int64{plans["'10 days'"], plans["'0'"]}, query[[]int64](t, conn, `SELECT array_agg(id ORDER BY id) FROM rowrun.plan`))
}

// What is no span of time is refused; an explicit NULL gets its default.
func TestRetentionAndLogLevelAreChecked(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	for column, value := range map[string]string{"retention": "-1 s", "failure_log_level": "loud"} {
		_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task (type, `+column+`) VALUES ('NOOP', '`+value+`')`)
		require.ErrorContains(t, err, "23514", column)
	}
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type, retention, failure_log_level) VALUES ('NOOP', NULL, NULL) RETURNING id`)
	exec(t, conn, `UPDATE rowrun.task SET failure_log_level = 'error' WHERE id = $1`, task)
	require.Equal(t, "error", query[string](t, conn, `UPDATE rowrun.task SET retention = '1 day' WHERE id = $1 RETURNING failure_log_level`, task))
	require.Equal(t, "info", query[string](t, conn, `UPDATE rowrun.task SET failure_log_level = NULL WHERE id = $1 RETURNING failure_log_level`, task))
}
