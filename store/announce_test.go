package store_test

import (
	"encoding/json"
	"fmt"
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

// newPlan makes a plan with a task per name and, once per project, a webhook that records every event.
func newPlan(t *testing.T, conn *pgx.Conn, names ...string) (plan int64, tasks []int64) {
	t.Helper()
	plan = query[int64](t, conn, `INSERT INTO rowrun.plan (name) VALUES ('release') RETURNING id`)
	for _, name := range names {
		tasks = append(tasks, query[int64](t, conn, `INSERT INTO rowrun.task (plan_id, name, type, retry_delay) VALUES ($1, $2, 'NOOP', '0') RETURNING id`, plan, name))
	}
	exec(t, conn, `INSERT INTO rowrun.webhook (url) SELECT 'https://example.com/hook' WHERE NOT EXISTS (SELECT FROM rowrun.webhook)`)
	return plan, tasks
}

// promote passes until there is nothing left to do.
func promote(t *testing.T, conn *pgx.Conn) (promoted int) {
	t.Helper()
	for range 50 {
		var n int
		var more bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT promoted, more FROM rowrun.promote_runs()`).Scan(&n, &more))
		promoted += n
		if n == 0 && !more {
			return promoted
		}
	}
	require.Fail(t, "the pass never ends")
	return promoted
}

// began makes a run of a task and takes it to RUNNING by way of the promotion.
func began(t *testing.T, conn *pgx.Conn, task int64) int64 {
	t.Helper()
	run := newRun(t, conn, task)
	claimed(t, conn, run)
	return run
}

func claimed(t *testing.T, conn *pgx.Conn, run int64) {
	t.Helper()
	promote(t, conn)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, run)
	require.Equal(t, "RUNNING", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, run))
}

const endOne = `SELECT status FROM rowrun.end_runs(ARRAY[$1::bigint], ARRAY[NULL::uuid], ARRAY[$2::text],
	ARRAY[jsonb_build_object('detail', $3::text)], ARRAY['FAILURE'])`

// end ends a RUNNING run as replicas do.
func end(t *testing.T, conn *pgx.Conn, run int64, status string) {
	t.Helper()
	require.Equal(t, status, query[string](t, conn, endOne, run, status, "because"))
}

// told is what was announced of a plan, in order: round, event and message.
func told(t *testing.T, conn *pgx.Conn, plan int64) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT concat_ws(' ', round, event_type || ':', payload::jsonb #>> '{data,message}')
		FROM rowrun.webhook_delivery WHERE plan_id = $1 ORDER BY id`, plan)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return all
}

// Two that end a plan's last two runs in two transactions at once announce it once, and so do two that fail.
func TestTwoEndsAtOnceAnnounceOnce(t *testing.T) {
	t.Parallel()
	for status, event := range map[string]string{"DONE": "PIPELINE_COMPLETED", "FAILED": "PIPELINE_FAILED"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn := connect(t, url)
			enders := []*pgx.Conn{connect(t, url), connect(t, url)}
			var plans []int64
			for range storetest.Count(60, 1000) {
				plan, tasks := newPlan(t, conn, "a", "b")
				plans = append(plans, plan)
				runs := []int64{newRun(t, conn, tasks[0]), newRun(t, conn, tasks[1])}
				claimed(t, conn, runs[0])
				claimed(t, conn, runs[1])
				var ready, ended sync.WaitGroup
				ready.Add(2)
				errs := make([]error, 2)
				for i, ender := range enders {
					ended.Go(func() {
						ready.Done()
						ready.Wait()
						_, errs[i] = ender.Exec(t.Context(), endOne, runs[i], status, "because")
					})
				}
				ended.Wait()
				require.NoError(t, errs[0])
				require.NoError(t, errs[1])
			}
			require.Equal(t, len(plans), query[int](t, conn, `SELECT count(*) FROM rowrun.webhook_delivery_log WHERE event_type = $1 AND round = 1`, event))
			require.Equal(t, len(plans), query[int](t, conn, `SELECT count(DISTINCT plan_id) FROM rowrun.webhook_delivery WHERE event_type = $1`, event))
			require.Equal(t, len(plans), query[int](t, conn, `SELECT count(*) FROM rowrun.webhook_delivery`))
		})
	}
}

// The same with the second transaction waiting in the middle of the first one.
func TestSecondEndSeesTheFirst(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, other := connect(t, url), connect(t, url)
	plan, tasks := newPlan(t, conn, "a", "b")
	first, second := newRun(t, conn, tasks[0]), newRun(t, conn, tasks[1])
	claimed(t, conn, first)
	claimed(t, conn, second)

	exec(t, conn, `BEGIN`)
	end(t, conn, first, "DONE")
	done := make(chan error, 1)
	go func() {
		_, err := other.Exec(t.Context(), endOne, second, "DONE", "")
		done <- err
	}()
	watch := connect(t, url)
	require.Eventually(t, func() bool {
		return query[bool](t, watch, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock')`, int64(other.PgConn().PID()))
	}, 20*time.Second, 5*time.Millisecond)
	require.Empty(t, told(t, watch, plan))
	exec(t, conn, `COMMIT`)
	require.NoError(t, <-done)
	require.Equal(t, []string{"1 PIPELINE_COMPLETED: Pipeline completed successfully"}, told(t, conn, plan))
}

// What is written by hand is settled by the next pass, without a sweep; a lost mark by the next sweep.
func TestEndsByHandAreAnnouncedByThePass(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	plan, tasks := newPlan(t, conn, "a")
	finish(t, conn, newRun(t, conn, tasks[0]), "DONE")
	require.Empty(t, told(t, conn, plan))
	promote(t, conn)
	require.Equal(t, []string{"1 PIPELINE_COMPLETED: Pipeline completed successfully"}, told(t, conn, plan))

	plan, tasks = newPlan(t, conn, "a")
	finish(t, conn, newRun(t, conn, tasks[0]), "FAILED")
	exec(t, conn, `DELETE FROM rowrun.gate_mark`)
	promote(t, conn)
	require.Empty(t, told(t, conn, plan))
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Equal(t, []string{"1 PIPELINE_FAILED: Pipeline failed - Task a failed"}, told(t, conn, plan))

	// A round that was begun by hand: its failure counts for it, though it ended before anybody looked.
	again := query[int64](t, conn, `SELECT rowrun.retry_run(max(id)) FROM rowrun.task_run WHERE plan_id = $1`, plan)
	finish(t, conn, again, "FAILED")
	promote(t, conn)
	require.Equal(t, []string{
		"1 PIPELINE_FAILED: Pipeline failed - Task a failed",
		"2 PIPELINE_FAILED: Pipeline failed on retry - Task a failed",
	}, told(t, conn, plan))

	// The last open task goes.
	plan, tasks = newPlan(t, conn, "a", "b")
	end(t, conn, began(t, conn, tasks[0]), "DONE")
	exec(t, conn, `DELETE FROM rowrun.task WHERE id = $1`, tasks[1])
	promote(t, conn)
	require.Equal(t, []string{"1 PIPELINE_COMPLETED: Pipeline completed successfully"}, told(t, conn, plan))

	// A run that is still to be done keeps its plan open, until it is deleted.
	plan, tasks = newPlan(t, conn, "a", "b")
	end(t, conn, began(t, conn, tasks[0]), "DONE")
	waits := query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1 hour') RETURNING id`, tasks[0])
	end(t, conn, began(t, conn, tasks[1]), "DONE")
	require.Empty(t, told(t, conn, plan))
	exec(t, conn, `DELETE FROM rowrun.task_run WHERE id = $1`, waits)
	promote(t, conn)
	require.Equal(t, []string{"1 PIPELINE_COMPLETED: Pipeline completed successfully"}, told(t, conn, plan))
}

// Each webhook of the project that is enabled and wants the event gets its own message, in its own format.
func TestWebhooksGetWhatTheyWant(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	plan, tasks := newPlan(t, conn, "a <b> & c")
	exec(t, conn, `INSERT INTO rowrun.webhook (name, project, url, events, format, enabled) VALUES
		('slack', 'default', 'env:SLACK_URL', NULL, 'slack', true),
		('completed only', 'default', 'file:/run/hook', '{PIPELINE_COMPLETED}', NULL, true),
		('off', 'default', 'http://example.com', NULL, NULL, false),
		('elsewhere', 'other', 'http://example.com', NULL, NULL, true)`)
	run := began(t, conn, tasks[0])
	end(t, conn, run, "FAILED")
	require.Equal(t, ",slack", query[string](t, conn, `SELECT string_agg(w.name, ',' ORDER BY w.id) FROM rowrun.webhook_delivery d JOIN rowrun.webhook w ON w.id = d.webhook_id`))
	require.Equal(t, fmt.Sprintf("Pipeline failed - Task a &lt;b&gt; &amp; c failed (release, plan %d)", plan),
		query[string](t, conn, `SELECT d.payload::jsonb ->> 'text' FROM rowrun.webhook_delivery d JOIN rowrun.webhook w ON w.id = d.webhook_id WHERE w.format = 'slack'`))
	require.Equal(t, 2, query[int](t, conn, `SELECT count(DISTINCT message_id) FROM rowrun.webhook_delivery WHERE message_id ~ '^msg_[0-9a-f]{32}$'`))

	var body struct {
		Type      string
		Timestamp time.Time
		Data      map[string]any
	}
	text := query[string](t, conn, `SELECT d.payload FROM rowrun.webhook_delivery d JOIN rowrun.webhook w ON w.id = d.webhook_id WHERE w.format = 'standard'`)
	require.NoError(t, json.Unmarshal([]byte(text), &body))
	require.Equal(t, "PIPELINE_FAILED", body.Type)
	require.WithinDuration(t, time.Now(), body.Timestamp, time.Minute)
	require.Equal(t, map[string]any{
		"project": "default", "plan_id": float64(plan), "plan": "release", "round": 1.0, "retry_count": 0.0,
		"message": "Pipeline failed - Task a <b> & c failed", "failed_task_count": 1.0,
		"failed_tasks": []any{map[string]any{
			"task_id": float64(tasks[0]), "name": "a <b> & c", "run_id": float64(run), "attempt": 0.0, "detail": "because",
		}},
	}, body.Data)

	exec(t, conn, `DELETE FROM rowrun.webhook_delivery`)
	plan, tasks = newPlan(t, conn, "done", "skipped")
	exec(t, conn, `SELECT rowrun.skip_task($1)`, tasks[1])
	end(t, conn, began(t, conn, tasks[0]), "DONE")
	body.Data = nil
	text = query[string](t, conn, `SELECT payload FROM rowrun.webhook_delivery WHERE plan_id = $1 ORDER BY id LIMIT 1`, plan)
	require.NoError(t, json.Unmarshal([]byte(text), &body))
	require.Equal(t, map[string]any{
		"project": "default", "plan_id": float64(plan), "plan": "release", "round": 1.0, "retry_count": 0.0,
		"message": "Pipeline completed successfully", "tasks": 2.0, "done": 1.0, "skipped": 1.0,
	}, body.Data)
	require.Equal(t, 3, query[int](t, conn, `SELECT count(*) FROM rowrun.webhook_delivery WHERE plan_id = $1`, plan))
}

// A body stays below 20 kB, whatever failed and whatever was said of it; the count stays true. Together with that an
// announcement wakes who delivers.
func TestLongBodiesAreCut(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	for _, detail := range []string{strings.Repeat("x", 300), strings.Repeat("\x01ü\"", 50_000)} {
		plan, _ := newPlan(t, conn)
		exec(t, conn, `INSERT INTO rowrun.task (plan_id, name, type) SELECT $1, repeat('"', 190) || n, 'NOOP' FROM generate_series(1, 300) n`, plan)
		exec(t, conn, `SELECT rowrun.run_plan($1)`, plan)
		promote(t, conn)
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE plan_id = $1`, plan)
		l := newListener(t, url)
		exec(t, conn, `SELECT count(*) FROM (SELECT array_agg(id) AS ids, count(*)::int AS n FROM rowrun.task_run WHERE plan_id = $1) o
			CROSS JOIN LATERAL rowrun.end_runs(o.ids, array_fill(NULL::uuid, ARRAY[o.n]), array_fill('FAILED'::text, ARRAY[o.n]),
			array_fill(jsonb_build_object('detail', $2::text), ARRAY[o.n]), array_fill('NONE'::text, ARRAY[o.n]))`, plan, detail)
		require.Contains(t, l.heard(t), "[]")
		text := query[string](t, conn, `SELECT payload FROM rowrun.webhook_delivery WHERE plan_id = $1`, plan)
		require.Less(t, len(text), 20_001)
		var body struct {
			Data struct {
				Count int               `json:"failed_task_count"`
				Tasks []json.RawMessage `json:"failed_tasks"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(text), &body))
		require.Equal(t, 300, body.Data.Count)
		require.NotEmpty(t, body.Data.Tasks)
		require.Less(t, len(body.Data.Tasks), 300)
	}
}

// What no webhook can be is refused, and neither URL nor secret is repeated in the error.
func TestWebhooksAreChecked(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	for set, says := range map[string]string{
		`url = 'https://user:hunter2@example.com/'`: "no user and password",
		`url = 'https://user@example.com'`:          "no user and password",
		`url = 'ftp://example.com/hunter2'`:         "http://... or https://...",
		`url = 'javascript:hunter2'`:                "http://... or https://...",
		`url = 'https://'`:                          "http://... or https://...",
		`url = 'https://:80/'`:                      "http://... or https://...",
		`url = 'https://example.com/ hunter2'`:      "http://... or https://...",
		`url = NULL`:                                "http://... or https://...",
		`url = 'env:1X'`:                            "http://... or https://...",
		`secret_ref = 'whsec_hunter2'`:              "secret_ref of a webhook names where",
		`secret_ref = ''`:                           "secret_ref of a webhook names where",
		`events = '{PIPELINE_STARTED}'`:             `not "PIPELINE_STARTED"`,
		`events = '{}'`:                             "events of a webhook are of PIPELINE_FAILED",
		`format = 'xml'`:                            `not "xml"`,
	} {
		exec(t, conn, `DELETE FROM rowrun.webhook; INSERT INTO rowrun.webhook (url) VALUES ('https://example.com:8443/hook?a=b@c')`)
		_, err := conn.Exec(t.Context(), `UPDATE rowrun.webhook SET `+set)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, set)
		require.Equal(t, "23514", refused.Code)
		require.Contains(t, refused.Message, says)
		require.NotContains(t, refused.Message+refused.Detail+refused.Hint, "hunter2")
	}
	for _, url := range []string{"http://[::1]:8080", "HTTPS://example.com/@x", "env:HOOK_URL", "file:/run/secrets/hook"} {
		exec(t, conn, `INSERT INTO rowrun.webhook (url, secret_ref) VALUES ($1, 'file:/run/secret')`, url)
	}
}

// Whoever is changing or deleting a webhook holds up no event; what was addressed to one goes with it, also what was
// being written meanwhile.
func TestDeletedWebhooksHoldNothingUp(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, user, s := connect(t, url), connect(t, url), openStore(t, url)
	first, tasks := newPlan(t, conn, "a")
	end(t, conn, began(t, conn, tasks[0]), "DONE")
	plan, tasks := newPlan(t, conn, "a")
	run := began(t, conn, tasks[0])
	exec(t, user, `BEGIN; DELETE FROM rowrun.webhook`)
	exec(t, conn, `SET lock_timeout = '2s'`)
	end(t, conn, run, "DONE")
	require.Len(t, told(t, conn, first), 1)
	exec(t, user, `COMMIT`)
	require.Empty(t, told(t, conn, first))
	require.Len(t, told(t, conn, plan), 1, "nobody will get it")
	exec(t, conn, `UPDATE rowrun.webhook_delivery SET created_at = now() - interval '2 days'`)
	gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(1), gone.Deliveries)
}

// What the roles may do with webhooks and plans.
func TestRolesOfPlansAndWebhooks(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	plan, tasks := newPlan(t, conn, "a", "b")
	as := func(role, sql string, args ...any) error {
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
		_, err = tx.Exec(t.Context(), `SET LOCAL ROLE `+role)
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), sql, args...)
		return err
	}
	for _, role := range []string{"rowrun_viewer", "rowrun_client"} {
		require.NoError(t, as(role, `SELECT id, project, name, events, format, enabled FROM rowrun.webhook`))
		require.ErrorContains(t, as(role, `SELECT url FROM rowrun.webhook`), "permission denied")
		require.ErrorContains(t, as(role, `SELECT secret_ref FROM rowrun.webhook`), "permission denied")
		require.ErrorContains(t, as(role, `INSERT INTO rowrun.webhook (url) VALUES ('env:X')`), "permission denied")
		require.ErrorContains(t, as(role, `SELECT rowrun.skip_task($1)`, tasks[0]), "permission denied")
		require.ErrorContains(t, as(role, `SELECT rowrun.announce_plans(ARRAY[$1::bigint])`, plan), "permission denied")
		require.NoError(t, as(role, `SELECT * FROM rowrun.webhook_delivery, rowrun.webhook_delivery_log`))
	}
	require.ErrorContains(t, as("rowrun_viewer", `SELECT rowrun.cancel_plan($1)`, plan), "permission denied")
	require.NoError(t, as("rowrun_author", `INSERT INTO rowrun.webhook (url) VALUES ('env:X') RETURNING *`))
	require.NoError(t, as("rowrun_author", `UPDATE rowrun.webhook SET enabled = false`))
	for _, f := range []string{"run_plan", "retry_plan", "cancel_plan"} {
		require.NoError(t, as("rowrun_client", `SELECT rowrun.`+f+`($1)`, plan))
	}
	require.NoError(t, as("rowrun_client", `INSERT INTO rowrun.task_dependency VALUES ($1, $2)`, tasks[0], tasks[1]))
	require.NoError(t, as("rowrun_operator", `SELECT rowrun.skip_task($1, 'no'), rowrun.unskip_task($1)`, tasks[0]))
	require.NoError(t, as("rowrun_operator", `UPDATE rowrun.plan SET paused = true`))

	// A replica: every pass and every end, with rounds, events and their deliveries.
	addReplica(t, conn, "r")
	exec(t, conn, `SET ROLE rowrun_replica`)
	for range 2 {
		a, b := began(t, conn, tasks[0]), began(t, conn, tasks[1])
		end(t, conn, a, "DONE")
		end(t, conn, b, "DONE")
		exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	}
	exec(t, conn, `UPDATE rowrun.webhook_delivery SET status = 'DELIVERED', delivered_at = now() - interval '2 days', created_at = now() - interval '2 days', next_attempt_at = NULL`)
	exec(t, conn, `RESET ROLE`)
	require.Equal(t, []string{
		"1 PIPELINE_COMPLETED: Pipeline completed successfully", "2 PIPELINE_COMPLETED: Pipeline completed successfully on retry",
	}, told(t, conn, plan))
	_, err := s.Pool().Exec(t.Context(), `SET ROLE rowrun_replica`)
	require.NoError(t, err)
	gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(2), gone.Deliveries)
}
