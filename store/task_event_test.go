package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// wantFailures makes a webhook for RUN_FAILED; filter "": none.
func wantFailures(t *testing.T, conn *pgx.Conn, filter string) int64 {
	t.Helper()
	return query[int64](t, conn, `INSERT INTO rowrun.webhook (url, events, filter) VALUES ('https://example.com', '{RUN_FAILED}', nullif($1, '')::jsonb) RETURNING id`, filter)
}

// heard are the runs, tasks and types that a webhook is told of, in order.
func heard(t *testing.T, conn *pgx.Conn, webhook int64) []string {
	t.Helper()
	return all[string](t, conn, `SELECT concat_ws(' ', event_type, run_id, CASE WHEN run_id IS NULL THEN coalesce(task_id::text, task_type) END)
		FROM rowrun.webhook_delivery WHERE webhook_id = $1 ORDER BY id`, webhook)
}

func failed(run int64) string { return fmt.Sprintf("RUN_FAILED %d", run) }

// A chain is told of once, when its last attempt has failed, to who wanted to know by then.
func TestAChainThatFailsForGoodIsToldOnce(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	first := wantFailures(t, conn, "")
	task := query[int64](t, conn, `SELECT rowrun.define_task('nightly', 'report', max_attempts => 2, retry_delay => '0', queue => 'slow')`)
	root := began(t, conn, task)
	end(t, conn, root, "FAILED")
	require.Empty(t, heard(t, conn, first), "a run follows")
	last := query[int64](t, conn, `SELECT retry_run_id FROM rowrun.task_run WHERE id = $1`, root)
	claimed(t, conn, last)
	exec(t, conn, `BEGIN`)
	end(t, conn, last, "FAILED")
	exec(t, conn, `ROLLBACK`)
	require.Empty(t, heard(t, conn, first), "without the end there is no message")
	end(t, conn, last, "FAILED")
	require.Equal(t, []string{failed(last)}, heard(t, conn, first))
	var body struct {
		Type string
		Data json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(query[string](t, conn, `SELECT payload FROM rowrun.webhook_delivery`)), &body))
	require.Equal(t, "RUN_FAILED", body.Type)
	require.JSONEq(t, fmt.Sprintf(`{"run_id":%d,"root_id":%d,"task_id":%d,"task":"nightly","type":"report","queue":"slow","database_id":null,"attempt":1,
		"code":null,"detail":"because","message":"Run failed - Task nightly failed"}`, last, root, task), string(body.Data))

	second := wantFailures(t, conn, "")
	require.Empty(t, heard(t, conn, second), "that was before it")
	again := query[int64](t, conn, `SELECT rowrun.retry_run($1)`, last)
	claimed(t, conn, again)
	end(t, conn, again, "FAILED")
	again = query[int64](t, conn, `SELECT retry_run_id FROM rowrun.task_run WHERE id = $1`, again)
	claimed(t, conn, again)
	end(t, conn, again, "FAILED")
	require.Equal(t, []string{failed(last)}, heard(t, conn, first), "a chain has one message")
	require.Equal(t, []string{failed(again)}, heard(t, conn, second))
}

// What isn't a failure for good of a run outside plans is no event; what the owner writes by hand is.
func TestOnlyFailuresForGoodOutsidePlansAreTold(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	hook := wantFailures(t, conn, "")
	off := wantFailures(t, conn, "")
	exec(t, conn, `UPDATE rowrun.webhook SET enabled = false WHERE id = $1`, off)
	task := query[int64](t, conn, `SELECT rowrun.define_task('one', 'NOOP')`)
	end(t, conn, began(t, conn, task), "DONE")

	canceled := began(t, conn, task)
	exec(t, conn, `SELECT rowrun.cancel_run($1)`, canceled)
	require.Equal(t, "CANCELED", query[string](t, conn, endOne, canceled, "FAILED", "because"))

	for _, code := range []string{"RELEASED", "SNOOZED"} {
		given := began(t, conn, task)
		require.True(t, query[bool](t, conn, `SELECT retry_run_id IS NOT NULL FROM rowrun.end_runs(ARRAY[$1::bigint], '{NULL}', '{FAILED}', ARRAY[jsonb_build_object('code', $2::text)], '{RELEASED}')`, given, code))
		// Nothing follows where the task was skipped meanwhile; it was given back all the same.
		given = query[int64](t, conn, `SELECT max(id) FROM rowrun.task_run`)
		claimed(t, conn, given)
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'FAILED', result = jsonb_build_object('code', $2::text) WHERE id = $1`, given, code)
	}
	_, tasks := newPlan(t, conn, "a")
	end(t, conn, began(t, conn, tasks[0]), "FAILED")
	require.Empty(t, heard(t, conn, hook))
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.webhook_delivery_log`), "the plan has its own event")

	byHand := began(t, conn, task)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'FAILED' WHERE id = $1`, byHand)
	abandoned := began(t, conn, task)
	exec(t, conn, `SELECT rowrun.abandon_run($1, 'it hangs')`, abandoned)
	require.Equal(t, []string{failed(byHand), failed(abandoned)}, heard(t, conn, hook))
	require.Empty(t, heard(t, conn, off))
}

func TestAFilterSaysOfWhichTasksIsTold(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	runs := map[string]int64{}
	for name, sql := range map[string]string{
		"a": `SELECT rowrun.define_task('a', 'report', queue => 'slow', labels => '{"team": "core", "tier": 1}')`,
		"b": `SELECT rowrun.define_task('b', 'HTTP', queue => 'default', labels => '{"team": "web"}')`,
	} {
		runs[name] = began(t, conn, query[int64](t, conn, sql))
	}
	hooks := map[int64]string{}
	for filter, of := range map[string]string{
		``: "ab", `{}`: "ab", `{"task": "a"}`: "a", `{"task": ["b", "nobody"]}`: "b", `{"type": "report"}`: "a", `{"type": ["report", "HTTP"]}`: "ab", `{"queue": "default"}`: "b",
		`{"label": {"team": "core"}}`: "a", `{"label": {"tier": "1"}}`: "a", `{"label": {"tier": 1, "team": "core"}}`: "a", `{"label": {"team": "core", "other": "x"}}`: "",
		`{"task": "a", "type": "HTTP"}`: "", `{"type": ["HTTP"], "label": {"team": "web"}}`: "b", `{"task": "` + query[string](t, conn, `SELECT task_id::text FROM rowrun.task_run WHERE id = $1`, runs["b"]) + `"}`: "b",
	} {
		hooks[wantFailures(t, conn, filter)] = of
	}
	for _, name := range []string{"a", "b"} {
		end(t, conn, runs[name], "FAILED")
	}
	for hook, of := range hooks {
		want := []string{}
		for name := range strings.SplitSeq(of, "") {
			want = append(want, failed(runs[name]))
		}
		require.Equal(t, want, heard(t, conn, hook), query[string](t, conn, `SELECT coalesce(filter::text, 'NULL') FROM rowrun.webhook WHERE id = $1`, hook))
	}
}

func TestAFilterThatMeansNothingIsRefused(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	for _, c := range []struct{ events, filter, says string }{
		{"RUN_FAILED", `[]`, "is a JSON object"},
		{"RUN_FAILED", `{"tsk": "a"}`, `has no "tsk"`},
		{"RUN_FAILED", `{"task": 7}`, "task in the filter of a webhook is a text or a list of texts"},
		{"RUN_FAILED", `{"type": []}`, "type in the filter"},
		{"RUN_FAILED", `{"type": ["a", ""]}`, "type in the filter"},
		{"RUN_FAILED", `{"queue": {"a": "b"}}`, "queue in the filter"},
		{"RUN_FAILED", `{"label": "a"}`, "label in the filter"},
		{"RUN_FAILED", `{"label": {"a": ["b"]}}`, "label in the filter"},
		{"RUN_FAILED", `{"type": [["a"]]}`, "type in the filter"},
		{"PIPELINE_FAILED,RUN_FAILED", `{"type": "a"}`, "means nothing for PIPELINE_FAILED"},
		{"TYPE_ORPHANED", `{"type": "a", "queue": "b"}`, "TYPE_ORPHANED is by type alone"},
		{"RUN_FAILD", `{"type": "a"}`, `events of a webhook are of PIPELINE_FAILED, PIPELINE_COMPLETED, RUN_FAILED, SCHEDULE_PAUSED and TYPE_ORPHANED, not "RUN_FAILD"`},
	} {
		code, message := refused(t, conn, `INSERT INTO rowrun.webhook (url, events, filter) VALUES ('https://example.com', string_to_array($1, ','), $2::jsonb)`, c.events, c.filter)
		require.Equal(t, "23514", code, "%s: %s", c.filter, message)
		require.Contains(t, message, c.says)
	}
	hook := wantFailures(t, conn, `{"queue": "slow"}`)
	code, _ := refused(t, conn, `UPDATE rowrun.webhook SET events = '{TYPE_ORPHANED}' WHERE id = $1`, hook)
	require.Equal(t, "23514", code, "also when the events change")
}

// A schedule that pauses itself is told of once; so is its next pause.
func TestAScheduleThatPausesItselfIsTold(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	var hooks []int64
	for _, filter := range []string{"", `{"task": "bad"}`, `{"task": "good"}`} {
		hooks = append(hooks, query[int64](t, conn, `INSERT INTO rowrun.webhook (url, events, filter, format) VALUES ('https://example.com', '{SCHEDULE_PAUSED}', nullif($1, '')::jsonb, 'slack') RETURNING id`, filter))
	}
	bad := recur(t, conn, "bad", "SKIP", "SKIP")
	pause := func() {
		exec(t, conn, `SELECT rowrun.pause_schedule($1, 'no such zone'), rowrun.pause_schedule($1, 'no such zone')`, bad)
	}
	exec(t, conn, `BEGIN`)
	pause()
	exec(t, conn, `ROLLBACK`)
	pause()
	want := []string{fmt.Sprintf("SCHEDULE_PAUSED %d", bad)}
	require.Equal(t, want, heard(t, conn, hooks[0]))
	require.Equal(t, want, heard(t, conn, hooks[1]))
	require.Empty(t, heard(t, conn, hooks[2]))
	require.Contains(t, query[string](t, conn, `SELECT payload FROM rowrun.webhook_delivery LIMIT 1`), "Schedule paused - Task bad runs no more")
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.stream_note WHERE event = 'task.schedule_paused'`))
	exec(t, conn, `UPDATE rowrun.task SET paused = false WHERE id = $1`, bad)
	pause()
	require.Len(t, heard(t, conn, hooks[0]), 2)
	exec(t, conn, `UPDATE rowrun.task SET paused = false WHERE id = $1; `, bad)
	exec(t, conn, `UPDATE rowrun.task SET paused = true WHERE id = $1`, bad)
	require.Len(t, heard(t, conn, hooks[0]), 2, "somebody paused it")
}

// An outage of a type is told of once, however long it lasts; so is the next one.
func TestAnOrphanedTypeIsToldOncePerOutage(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), storeAs(t, url, "rowrun_replica")
	var hooks []int64
	for _, filter := range []string{"", `{"type": ["OLD", "ELSE"]}`, `{"type": "ELSE"}`} {
		hooks = append(hooks, query[int64](t, conn, `INSERT INTO rowrun.webhook (url, events, filter) VALUES ('https://example.com', '{TYPE_ORPHANED}', nullif($1, '')::jsonb) RETURNING id`, filter))
	}
	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'OLD'); INSERT INTO rowrun.task_run (task_id) VALUES (1), (1)`)
	addReplica(t, conn, "r")
	look := func() {
		t.Helper()
		for range 2 {
			_, err := s.NoteOrphans(t.Context(), 0, 0)
			require.NoError(t, err)
		}
	}
	_, err := s.NoteOrphans(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Empty(t, heard(t, conn, hooks[0]), "it may be a rolling restart")
	look()
	exec(t, conn, `UPDATE rowrun.orphan_type SET announced_at = announced_at - interval '25 hours'`)
	look()
	require.Equal(t, 2, query[int](t, conn, `SELECT count(*) FROM rowrun.stream_note`), "the stream is told daily")
	require.Equal(t, []string{"TYPE_ORPHANED OLD"}, heard(t, conn, hooks[0]))
	require.Equal(t, []string{"TYPE_ORPHANED OLD"}, heard(t, conn, hooks[1]))
	require.Empty(t, heard(t, conn, hooks[2]))
	require.Equal(t, "Type orphaned - 2 runs of OLD wait, and no live replica runs them",
		query[string](t, conn, `SELECT payload::jsonb #>> '{data,message}' FROM rowrun.webhook_delivery LIMIT 1`))

	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET types = '{NOOP,OLD}'`)
	look()
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET types = '{NOOP}'`)
	look()
	require.Equal(t, []string{"TYPE_ORPHANED OLD", "TYPE_ORPHANED OLD"}, heard(t, conn, hooks[0]))
}

// webhookLooks are how often the transaction has looked at webhooks, by any index or none.
const webhookLooks = `SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_xact_user_tables WHERE relid = 'rowrun.webhook'::regclass`

// What ended well, and what is tried again, is not asked for; a failure for good is one look at an index of the webhooks that
// want it, however many want something else.
func TestAnEndThatIsToldToNobodyCostsALookAtMost(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.webhook (url) SELECT 'https://example.com' FROM generate_series(1, 2000)`)
	exec(t, conn, `ANALYZE rowrun.webhook`)
	tries := query[int64](t, conn, `SELECT rowrun.define_task('tries', 'NOOP', max_attempts => 2)`)
	once := query[int64](t, conn, `SELECT rowrun.define_task('once', 'NOOP')`)
	for _, c := range []struct {
		task   int64
		status string
		want   int
	}{{once, "DONE", 0}, {tries, "FAILED", 0}, {once, "FAILED", 1}} {
		run := began(t, conn, c.task)
		exec(t, conn, `BEGIN`)
		before := query[int](t, conn, webhookLooks)
		end(t, conn, run, c.status)
		require.Equal(t, c.want, query[int](t, conn, webhookLooks)-before, "%s of task %d", c.status, c.task)
		exec(t, conn, `COMMIT`)
	}
	plan := strings.Join(all[string](t, conn, `EXPLAIN (ANALYZE, BUFFERS, COSTS off) SELECT EXISTS (SELECT FROM rowrun.webhook w WHERE w.enabled AND 'RUN_FAILED' = ANY (w.events))`), "\n")
	require.Contains(t, plan, "webhook_run_failed")
	require.NotContains(t, plan, "Seq Scan")
	t.Log(plan)
}

// Whoever tries a message first says where the dashboard is; every later try has the same bytes.
func TestBodiesLinkToTheDashboardOfWhoTriesFirst(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	exec(t, o.Conn, `INSERT INTO rowrun.webhook (name, url, events, format) SELECT f, 'https://example.com', '{RUN_FAILED}', f FROM unnest('{standard,slack,teams,discord,cloudevents}'::text[]) f`)
	run := began(t, o.Conn, query[int64](t, o.Conn, `SELECT rowrun.define_task('nightly', 'NOOP')`))
	end(t, o.Conn, run, "FAILED")
	require.Zero(t, query[int](t, o.Conn, `SELECT count(*) FROM rowrun.webhook_delivery WHERE payload LIKE '%https://%/runs/%'`), "nobody has said where it is")
	w := wants(10, 2)
	w.PublicURL = "https://one.example/jobs"
	claimed := o.claim(t, w)
	require.Len(t, claimed, 5)
	link, formats := fmt.Sprintf("https://one.example/jobs/runs/%d", run), map[int64]string{}
	for _, d := range claimed {
		format := query[string](t, o.Conn, `SELECT format FROM rowrun.webhook WHERE id = $1`, d.WebhookID)
		formats[d.ID] = d.Payload
		require.True(t, json.Valid([]byte(d.Payload)), format)
		require.Equal(t, run, d.RunID)
		switch format {
		case "standard":
			require.NotContains(t, d.Payload, "one.example")
		case "cloudevents":
			var event struct{ ID, Source, Subject, Type string }
			require.NoError(t, json.Unmarshal([]byte(d.Payload), &event))
			require.Equal(t, "https://one.example/jobs", event.Source)
			require.Equal(t, fmt.Sprintf("runs/%d", run), event.Subject)
			require.Equal(t, "com.github.rowrun.RUN_FAILED", event.Type)
			require.Equal(t, d.MessageID, event.ID)
		default:
			require.Contains(t, d.Payload, link, format)
			require.Contains(t, d.Payload, "Run failed", format)
		}
		require.NoError(t, o.store.ReleaseDelivery(t.Context(), d, ""))
	}
	w.PublicURL = "https://two.example"
	claimed = o.claim(t, w)
	require.Len(t, claimed, 5)
	for _, d := range claimed {
		require.Equal(t, formats[d.ID], d.Payload)
	}
}

// An id that was a plan's or a run's before, as after TRUNCATE, keeps no message back; what was left of the one before is still
// sent.
func TestAnIDThatIsUsedAgainIsToldOfAgain(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	hook := query[int64](t, conn, `INSERT INTO rowrun.webhook (url, events) VALUES ('https://example.com', '{PIPELINE_FAILED,RUN_FAILED}') RETURNING id`)
	for n := range 3 {
		exec(t, conn, `TRUNCATE rowrun.plan, rowrun.task, rowrun.task_run RESTART IDENTITY CASCADE`)
		plan, tasks := newPlan(t, conn, fmt.Sprintf("task %d", n))
		require.EqualValues(t, 1, plan)
		end(t, conn, began(t, conn, tasks[0]), "FAILED")
		alone := query[int64](t, conn, `INSERT INTO rowrun.task (name, type) VALUES ($1, 'NOOP') RETURNING id`, fmt.Sprintf("alone %d", n))
		run := began(t, conn, alone)
		require.EqualValues(t, 2, run)
		end(t, conn, run, "FAILED")
		claimed(t, conn, query[int64](t, conn, `SELECT rowrun.retry_run($1)`, run))
		end(t, conn, run+1, "FAILED")
	}
	require.Equal(t, []string{
		"-1 Pipeline failed - task 0 failed", "-1 Run failed - Task alone 0 failed",
		"-2 Pipeline failed - task 1 failed", "-1 Run failed - Task alone 1 failed",
		"1 Pipeline failed - task 2 failed", "2 Run failed - Task alone 2 failed",
	}, all[string](t, conn, `SELECT concat_ws(' ', coalesce(round, greatest(root_id, -1)), payload::jsonb #>> '{data,message}') FROM rowrun.webhook_delivery
		WHERE webhook_id = $1 AND status = 'PENDING' ORDER BY id`, hook))
}
