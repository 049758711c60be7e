package api_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/api"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
)

// body is an act of a new request id.
func body(act, on, args string) string { return bodyOf(uuid.NewString(), act, on, args) }

func bodyOf(id, act, on, args string) string {
	if args == "" {
		args = "{}"
	}
	return fmt.Sprintf(`{"request_id": %q, "act": %q, "on": %s, "args": %s}`, id, act, on, args)
}

// failures makes so many runs that failed for good, of one task.
func (b *board) failures(n int) {
	b.t.Helper()
	change(b.t, b.conn, `INSERT INTO rowrun.task (type, name) VALUES ('NOOP', 'fails')`)
	change(b.t, b.conn, `INSERT INTO rowrun.task_run (task_id) SELECT 1 FROM generate_series(1, $1::int)`, n)
	change(b.t, b.conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'x'`)
	change(b.t, b.conn, `UPDATE rowrun.task_run SET status = 'FAILED', result = '{"code": "ERROR", "detail": "it broke"}'`)
}

func TestAnActIsDoneOnceHoweverOftenItIsSent(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.failures(3)
	request := bodyOf(someID, "retry", `{"kind": "run", "ids": ["2", "1", "2"]}`, "")
	var answers [5]sent
	var sending sync.WaitGroup
	for i := range answers {
		sending.Go(func() { answers[i] = b.act(request) })
	}
	sending.Wait()
	for _, s := range answers {
		require.Equal(t, http.StatusOK, s.Status, s.Body)
		require.Equal(t, at(t, answers[0].value(), "act_id"), at(t, s.value(), "act_id"))
		require.Equal(t, "DONE", at(t, s.value(), "state"))
		require.Equal(t, "2", at(t, s.value(), "done"))
		require.Equal(t, at(t, answers[0].value(), "made"), at(t, s.value(), "made"))
	}
	require.Equal(t, 5, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run`), "two were made")
	require.Equal(t, 1, query[int](t, b.conn, `SELECT count(*) FROM rowrun.act`))
	require.Equal(t, "alice asked for: retry of 2 runs", query[string](t, b.conn, `SELECT message FROM rowrun.stream_note WHERE event = 'act.asked'`))
	require.Equal(t, "alice", query[string](t, b.conn, `SELECT detail ->> 'by' FROM rowrun.stream_note WHERE event = 'act.asked'`))

	// Another confirmation of the same finds nothing to do; the same id for something else is refused.
	again := b.act(body("retry", `{"kind": "run", "ids": ["1", "2"]}`, "")).value()
	require.Equal(t, "2", at(t, again, "unchanged"))
	for _, other := range []string{
		bodyOf(someID, "cancel", `{"kind": "run", "ids": ["1", "2"]}`, ""), bodyOf(someID, "retry", `{"kind": "run", "ids": ["3"]}`, ""),
		bodyOf(someID, "retry", `{"kind": "run", "filter": {"failed": "1"}}`, ""),
	} {
		require.Equal(t, http.StatusConflict, b.act(other).Status, other)
	}
	require.Equal(t, 5, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run`))
}

func TestEachActDoesWhatItSays(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	plan := fmt.Sprint(b.rollout())
	change(t, b.conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, name) VALUES ('one', clock_timestamp(), '1 h', 'the one')`)
	change(t, b.conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload, status) VALUES (1, $1, 9, 'PIPELINE_FAILED', 'm', '{}', 'EXHAUSTED')`, plan)
	task := func(name string) string {
		return query[string](t, b.conn, `SELECT id::text FROM rowrun.task WHERE name = $1`, name)
	}
	run := func(name string) string {
		return query[string](t, b.conn, `SELECT last_run_id::text FROM rowrun.task_status WHERE name = $1`, name)
	}
	on := func(kind, id string) string { return fmt.Sprintf(`{"kind": %q, "ids": [%q]}`, kind, id) }
	for _, step := range []struct{ act, on, args, holds string }{
		{"pause", on("plan", plan), "", `SELECT paused FROM rowrun.plan`},
		{"resume", on("plan", plan), "", `SELECT NOT paused FROM rowrun.plan`},
		{"limit", on("plan", plan), `{"limit": 3}`, `SELECT parallel_limit = 3 FROM rowrun.plan`},
		{"limit", on("plan", plan), `{"limit": null}`, `SELECT parallel_limit IS NULL FROM rowrun.plan`},
		{"cancel", on("run", run("stock 1.10")), `{"reason": "not now"}`, `SELECT cancel_reason = 'not now' AND status = 'CANCELED' FROM rowrun.task_run WHERE id = ` + run("stock 1.10")},
		{"skip", on("task", task("stock 1.10")), `{"reason": "done by hand"}`, `SELECT skipped AND skip_reason = 'done by hand' FROM rowrun.task WHERE name = 'stock 1.10'`},
		{"unskip", on("task", task("stock 1.10")), "", `SELECT NOT skipped FROM rowrun.task WHERE name = 'stock 1.10'`},
		{"pause", on("task", task("stock 1.10")), "", `SELECT paused FROM rowrun.task WHERE name = 'stock 1.10'`},
		{"resume", on("task", task("stock 1.10")), "", `SELECT NOT paused FROM rowrun.task WHERE name = 'stock 1.10'`},
		{"retry", on("task", task("orders 1.9")), "", `SELECT status = 'PENDING' FROM rowrun.task_status WHERE name = 'orders 1.9'`},
		{"cancel", on("plan", plan), "", `SELECT count(*) = 0 FROM rowrun.task_run WHERE status = 'PENDING'`},
		{"retry", on("plan", plan), "", `SELECT count(*) = 3 FROM rowrun.task_run WHERE status = 'PENDING'`},
		{"cancel", on("task", task("orders 1.9")), "", `SELECT status = 'CANCELED' FROM rowrun.task_status WHERE name = 'orders 1.9'`},
		{"run", on("task", task("stock 1.9")), "", `SELECT status <> 'DONE' FROM rowrun.task_status WHERE name = 'stock 1.9'`},
		{"redeliver", on("delivery", "1"), "", `SELECT status = 'PENDING' FROM rowrun.webhook_delivery WHERE id = 1`},
		{"pause", on("replica", "one"), "", `SELECT paused_at IS NOT NULL FROM rowrun.replica_heartbeat`},
		{"resume", on("replica", "the one"), "", `SELECT paused_at IS NULL FROM rowrun.replica_heartbeat`},
		{"drain", on("replica", "one"), "", `SELECT paused_at IS NOT NULL AND drain_requested_at IS NOT NULL FROM rowrun.replica_heartbeat`},
		{"resume", on("replica", "one"), "", `SELECT paused_at IS NULL AND drain_requested_at IS NULL FROM rowrun.replica_heartbeat`},
	} {
		s := b.act(body(step.act, step.on, step.args))
		require.Equal(t, http.StatusOK, s.Status, "%v %v", step, s.Body)
		require.Equal(t, "1", at(t, s.value(), "done"), "%v %v", step, s.Body)
		require.True(t, query[bool](t, b.conn, step.holds), "%v", step)
	}
	change(t, b.conn, `UPDATE rowrun.task_run r SET status = 'AVAILABLE' WHERE id = $1::bigint`, run("stock 1.9"))
	change(t, b.conn, `UPDATE rowrun.task_run r SET status = 'RUNNING', replica_id = 'x' WHERE id = $1::bigint`, run("stock 1.9"))
	abandoned := run("stock 1.9")
	require.Equal(t, http.StatusOK, b.act(body("abandon", on("run", abandoned), `{"reason": "gone"}`)).Status)
	require.Equal(t, "ABANDONED", query[string](t, b.conn, `SELECT result ->> 'code' FROM rowrun.task_run WHERE id = $1::bigint`, abandoned))

	// What the database refuses is told for each target, and the others go on.
	refused := b.act(body("retry", fmt.Sprintf(`{"kind": "run", "ids": ["999", %q]}`, abandoned), "")).value()
	require.Equal(t, "1", at(t, refused, "done"))
	require.Equal(t, "999", at(t, refused, "failed", 0, "id"))
	require.Contains(t, at(t, refused, "failed", 0, "message"), "does not exist")
}

func TestAnActByFilterIsWatchedAndStopped(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.failures(90)
	change(t, b.conn, `INSERT INTO rowrun.task (type, name) VALUES ('NOOP', 'other')`)
	// Somebody holds all but the first 20, so that the act comes no further than that: for each it waits a while.
	held := b.other()
	change(t, held, `BEGIN`)
	change(t, held, `SELECT FROM rowrun.task_run WHERE id > 20 FOR UPDATE`)

	ask := `"act": "retry", "on": {"kind": "run", "filter": {"failed": "1", "task": "fails"}}`
	preview := b.act(`{"preview": true, ` + ask + `}`).value()
	require.Equal(t, "90", at(t, preview, "count"))
	require.Equal(t, false, at(t, preview, "capped"))
	require.Equal(t, "1", at(t, preview, "sample", 0, "id"))
	require.Zero(t, query[int](t, b.conn, `SELECT count(*) FROM rowrun.act`), "a preview does nothing")

	begun := b.act(`{"request_id": "` + someID + `", ` + ask + `}`)
	require.Equal(t, http.StatusOK, begun.Status, begun.Body)
	id := at(t, begun.value(), "act_id").(string)
	require.Equal(t, "RUNNING", at(t, begun.value(), "state"))
	require.Equal(t, "90", at(t, begun.value(), "count"))
	require.Equal(t, "20", at(t, begun.value(), "done"), "a step", begun.Body)
	require.Equal(t, "20", at(t, b.get("acts/"+id), "done"), "anybody who reads may watch")
	require.Equal(t, id, at(t, b.get("acts?state=RUNNING"), "items", 0, "act_id"))

	require.Equal(t, http.StatusUnauthorized, b.ask(http.MethodPost, "/api/v1/acts/"+id+"/stop", "").Status)
	stopped := b.ask(http.MethodPost, "/api/v1/acts/"+id+"/stop", "", "Authorization", asAlice)
	require.Equal(t, "STOPPED", at(t, stopped.value(), "state"), stopped.Body)
	require.Equal(t, "alice", at(t, stopped.value(), "stopped_by"))
	change(t, held, `ROLLBACK`)
	require.Equal(t, "20", at(t, b.get("acts/"+id), "done"))
	require.Equal(t, 110, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run`), "what it has done stays, and no more is done")
	require.Equal(t, "alice stopped: retry of all runs of a filter", query[string](t, b.conn, `SELECT message FROM rowrun.stream_note WHERE event = 'act.stopped'`))
}

// Whoever began an act may be gone: any process that may act goes on with it, also with what was not yet looked for.
func TestAnActThatWasLeftIsGoneOnWith(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.failures(50)
	change(t, b.conn, `INSERT INTO rowrun.act (request_id, verb, kind, asked_by, search, bound) VALUES ($1, 'retry', 'run', 'bob', '{"failed": true, "unretried": true}', 45)`, someID)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.api.Run(ctx) }()
	require.Eventually(t, func() bool {
		return query[string](t, b.conn, `SELECT state FROM rowrun.act`) == "DONE"
	}, testPatience, testLook)
	cancel()
	require.NoError(t, <-ended)
	require.Equal(t, 45, query[int](t, b.conn, `SELECT done FROM rowrun.act`), "what came after it began is left alone")
	require.Equal(t, 95, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run`))
	require.Equal(t, 1, query[int](t, b.conn, `SELECT count(*) FROM rowrun.stream_note WHERE event = 'act.ended'`))
}

func TestActsByFilterNarrowToWhatTheyCanBeDoneTo(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	plan := fmt.Sprint(b.rollout())
	of := func(kind, act, words string) any {
		s := b.act(fmt.Sprintf(`{"preview": true, "act": %q, "on": {"kind": %q, "filter": {%s}}}`, act, kind, words))
		require.Equal(t, http.StatusOK, s.Status, s.Body)
		return at(t, s.value(), "count")
	}
	require.Equal(t, "1", of("task", "retry", `"plan": "`+plan+`"`))
	require.Equal(t, "1", of("task", "retry", `"plan": "`+plan+`", "error": "relation ... of run ... is missing"`))
	require.Equal(t, "0", of("task", "retry", `"plan": "`+plan+`", "error": "another"`))
	require.Equal(t, "0", of("task", "retry", `"plan": "`+plan+`", "status": "DONE"`))
	require.Equal(t, "2", of("task", "cancel", `"plan": "`+plan+`"`))
	require.Equal(t, "2", of("run", "cancel", `"plan": "`+plan+`"`))
	require.Equal(t, "0", of("run", "cancel", `"status": "DONE"`))
	require.Equal(t, "1", of("run", "cancel", `"database": "stock"`))
	require.Equal(t, "0", of("run", "cancel", `"task": "nothing"`))
	require.Equal(t, "0", of("delivery", "redeliver", `"status": "EXHAUSTED"`))
	require.Equal(t, "1", of("task", "cancel", `"plan": "`+plan+`", "q": " 1.10  ORDERS"`), "words, of the version and of the database")
	require.Equal(t, "2", of("task", "cancel", `"plan": "`+plan+`", "q": "1.10"`))
	require.Equal(t, "0", of("task", "cancel", `"plan": "`+plan+`", "q": "1.10 nothing"`))
	require.Equal(t, "1", of("task", "retry", `"plan": "`+plan+`", "error": "relation ... of run ... is missing", "text": "42P01"`))
	require.Equal(t, "0", of("task", "retry", `"plan": "`+plan+`", "error": "relation ... of run ... is missing", "text": "42P02"`))

	none := b.act(body("cancel", `{"kind": "run", "filter": {"status": "DONE"}}`, "")).value()
	require.Equal(t, "DONE", at(t, none, "state"))
	require.Equal(t, "0", at(t, none, "done"))
	s := b.act(body("retry", `{"kind": "task", "filter": {"plan": "`+plan+`"}}`, ""))
	require.Equal(t, "1", at(t, s.value(), "done"), s.Body)
}

// What an act was about can be listed, narrowed and acted on later, however many there were.
func TestRunsAreFilteredByAct(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.failures(150)
	acted := func(s sent, done string) string {
		t.Helper()
		require.Equal(t, done, at(t, s.value(), "done"), s.Body)
		return at(t, s.value(), "act_id").(string)
	}
	of := func(words string) []string {
		t.Helper()
		ids := []string{}
		for next := ""; ; {
			page := b.get("runs?limit=60&" + words + next)
			for i := range at(t, page, "items").([]any) {
				ids = append(ids, at(t, page, "items", i, "id").(string))
			}
			cursor, more := at(t, page, "next").(string)
			if !more {
				return ids
			}
			next = "&cursor=" + cursor
		}
	}
	retry := acted(b.act(body("retry", `{"kind": "run", "filter": {"failed": "1"}}`, "")), "150")
	made := of("act=" + retry)
	require.Len(t, made, 150)
	require.Equal(t, []string{"300", "299"}, made[:2])
	require.Equal(t, "151", of("act=" + retry + "&order=oldest")[0])
	require.Empty(t, of("act="+retry+"&status=FAILED"))
	require.Empty(t, of("act="+retry+"&failed=1"))
	require.Empty(t, of("act=999"))

	cancel := acted(b.act(body("cancel", `{"kind": "run", "filter": {"act": "`+retry+`", "text": ""}}`, "")), "150")
	require.Equal(t, made, of("act="+cancel), "those that it ended")
	one := acted(b.act(body("cancel", `{"kind": "run", "ids": ["151"]}`, "")), "0")
	require.Empty(t, of("act="+one), "there was nothing to do")
	require.Len(t, at(t, b.get("acts/"+retry), "made"), 100, "of the act itself the first are told")
	require.Equal(t, http.StatusBadRequest, b.ask(http.MethodGet, "/api/v1/runs?act=x", "").Status)
}

// One target that somebody holds is told, and keeps the others from nothing.
func TestAnActPassesByWhatIsHeld(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.failures(5)
	held := b.other()
	change(t, held, `BEGIN`)
	change(t, held, `SELECT FROM rowrun.task_run WHERE id = 3 FOR UPDATE`)
	s := b.act(body("retry", `{"kind": "run", "ids": ["1", "2", "3", "4", "5"]}`, "")).value()
	require.Equal(t, "4", at(t, s, "done"))
	require.Equal(t, "3", at(t, s, "failed", 0, "id"))
	require.Equal(t, "another transaction holds it", at(t, s, "failed", 0, "message"))
	require.Equal(t, "DONE", at(t, s, "state"))
	change(t, held, `ROLLBACK`)
}

func TestAWebhookIsTestedOnce(t *testing.T) {
	t.Parallel()
	var tested int
	b := start(t, func(c *api.Config, _ *server.Config) {
		c.Test = func(_ context.Context, id int64) (string, error) {
			tested++
			if id == 2 {
				return "it answered 500", nil
			}
			return "", nil
		}
	})
	for range 2 {
		s := b.act(bodyOf(someID, "test", `{"kind": "webhook", "ids": ["1"]}`, ""))
		require.Equal(t, "1", at(t, s.value(), "done"), s.Body)
	}
	require.Equal(t, 1, tested)
	s := b.act(body("test", `{"kind": "webhook", "ids": ["2"]}`, ""))
	require.Equal(t, "it answered 500", at(t, s.value(), "failed", 0, "message"), s.Body)
	require.Equal(t, http.StatusForbidden, start(t, nil).act(body("test", `{"kind": "webhook", "ids": ["1"]}`, "")).Status, "who runs nothing sends nothing")
}
