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

// endedAs is a run that ended so, so long ago.
func endedAs(t *testing.T, conn *pgx.Conn, task int64, status, ago string) int64 {
	t.Helper()
	run := newRun(t, conn, task)
	if status == "CANCELED" {
		exec(t, conn, `SELECT rowrun.cancel_run($1)`, run)
	} else {
		finish(t, conn, run, status)
	}
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica;
		UPDATE rowrun.task_run SET created_at = now() - interval '`+ago+`', finished_at = now() - interval '`+ago+`' WHERE id = `+fmt.Sprint(run)+`;
		COMMIT`)
	return run
}

// What failed is kept for longer, or for less long, than the rest; a task says it for itself, status by status.
func TestRetentionByStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, retention, byStatus string
		keep                      store.Retention
		want                      map[string]int // how many of the runs of 10 min, 2 h, 2 days, 20 days ago stay
	}{
		{"the sidecar's", "NULL", "NULL", store.Retention{Runs: 24 * time.Hour, Failed: 240 * time.Hour}, map[string]int{"DONE": 2, "FAILED": 3, "CANCELED": 2}},
		{"the sidecar's, the other way round", "NULL", "NULL", store.Retention{Runs: 240 * time.Hour, Failed: time.Hour}, map[string]int{"DONE": 3, "FAILED": 1, "CANCELED": 3}},
		{"the task's", "NULL", `'{"DONE": "1 hour", "FAILED": "0"}'`, store.Retention{Runs: 24 * time.Hour}, map[string]int{"DONE": 1, "FAILED": 4, "CANCELED": 2}},
		{"the task's, of both kinds", "'10 days'", `'{"DONE": "1 hour", "FAILED": null}'`, store.Retention{Runs: 24 * time.Hour, Failed: time.Minute}, map[string]int{"DONE": 1, "FAILED": 3, "CANCELED": 3}},
		{"a short one of what failed", "NULL", `'{"FAILED": 3600}'`, store.Retention{Runs: 24 * time.Hour, Failed: 480 * time.Hour}, map[string]int{"DONE": 2, "FAILED": 1, "CANCELED": 2}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, s := connect(t, url), openStore(t, url)
			task := query[int64](t, conn, `INSERT INTO rowrun.task (type, retention, retention_by_status) VALUES ('NOOP', `+c.retention+`, `+c.byStatus+`) RETURNING id`)
			var want []int64
			for status, stay := range c.want {
				for i, ago := range []string{"10 min", "2 hours", "2 days", "19 days"} {
					if id := endedAs(t, conn, task, status, ago); i < stay {
						want = append(want, id)
					}
				}
			}
			gone, err := s.RemoveOld(t.Context(), c.keep, nil)
			require.NoError(t, err)
			require.ElementsMatch(t, want, left(t, conn))
			require.EqualValues(t, 12-len(want), gone.Runs)
		})
	}
}

// A plan stays as long as any of its runs is kept for.
func TestRetentionByStatusOfPlans(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	plans := map[string]int64{}
	for name, byStatus := range map[string]string{"failed": "NULL", "kept": `'{"FAILED": "0"}'`} {
		plans[name] = query[int64](t, conn, `INSERT INTO rowrun.plan (project) VALUES ($1) RETURNING id`, name)
		task := query[int64](t, conn, `INSERT INTO rowrun.task (plan_id, type, retention_by_status) VALUES ($1, 'NOOP', `+byStatus+`) RETURNING id`, plans[name])
		finish(t, conn, newRun(t, conn, task), "FAILED")
	}
	age(t, conn)
	for _, step := range []struct {
		keep store.Retention
		gone int64
	}{{store.Retention{Runs: time.Hour, Failed: 100 * 8760 * time.Hour}, 0}, {store.Retention{Runs: time.Hour, Failed: 2 * time.Hour}, 1}} {
		gone, err := s.RemoveOld(t.Context(), step.keep, nil)
		require.NoError(t, err)
		require.Equal(t, step.gone, gone.Plans)
	}
	require.Equal(t, plans["kept"], query[int64](t, conn, `SELECT id FROM rowrun.plan`))
}

// A plan stays for as long as a task of it that was skipped, and has no run, says; and for as long as plans are kept where what FAILED is kept shorter.
func TestRetentionOfPlansWithSkippedTasks(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	for name, retention := range map[string]string{"ever": "'0'", "long": "'50 years'", "short": "'1 hour'", "none": "NULL"} {
		exec(t, conn, `WITH p AS (INSERT INTO rowrun.plan (name) VALUES ('`+name+`') RETURNING id)
			INSERT INTO rowrun.task (plan_id, type, skipped, retention) SELECT p.id, 'NOOP', true, `+retention+` FROM p`)
	}
	age(t, conn)
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica; UPDATE rowrun.task SET created_at = now() - interval '1 year'; COMMIT`)
	task := query[int64](t, conn, `WITH p AS (INSERT INTO rowrun.plan (name, created_at) VALUES ('failed', now() - interval '1 year') RETURNING id)
		INSERT INTO rowrun.task (plan_id, type) SELECT p.id, 'NOOP' FROM p RETURNING id`)
	endedAs(t, conn, task, "FAILED", "2 hours")
	exec(t, conn, `UPDATE rowrun.webhook_delivery_log SET delivered_at = now() - interval '1 year'`) // that of an earlier failure
	gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour, Failed: time.Hour}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, gone.Plans)
	require.Equal(t, []string{"ever", "failed", "long"}, query[[]string](t, conn, `SELECT array_agg(name ORDER BY name) FROM rowrun.plan`))
}

// What is no object of spans of time by status is refused; a plan's tasks may say it where they say retention.
func TestRetentionByStatusIsChecked(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	for text, code := range map[string]string{
		`{"RUNNING": "1 day"}`: "23514", `[]`: "23514", `"1 day"`: "23514", `{"DONE": "-1 day"}`: "23514", `{"DONE": "1000 years"}`: "23514", `{"DONE": "soon"}`: "22007",
	} {
		_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task (type, retention_by_status) VALUES ('NOOP', $1)`, text)
		require.Equal(t, code, store.SQLState(err), "%s: %v", text, err)
	}
	plan := query[int64](t, conn, `SELECT rowrun.create_plan('p', '[{"name": "a", "type": "NOOP", "retention": {"FAILED": "90 days"}}, {"name": "b", "type": "NOOP", "retention": "2 days"},
		{"name": "c", "type": "NOOP", "retention": null}, {"name": "d", "type": "NOOP", "retention": 60}]')`)
	require.Equal(t, `a - {"FAILED": "90 days"}, b 2 days -, c - -, d 00:01:00 -`, query[string](t, conn,
		`SELECT string_agg(concat_ws(' ', name, coalesce(retention::text, '-'), coalesce(retention_by_status::text, '-')), ', ' ORDER BY name) FROM rowrun.task WHERE plan_id = $1`, plan))
}
