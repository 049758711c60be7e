package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/api"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
)

// post sends something to make as alice, with this request id; "": a new one.
func (b *board) post(path, id, members string) sent {
	b.t.Helper()
	if id == "" {
		id = uuid.NewString()
	}
	return b.ask(http.MethodPost, "/api/v1/"+path, fmt.Sprintf(`{"request_id": %q, %s}`, id, members), "Authorization", asAlice)
}

// done is the id of what was made.
func (s sent) done() string {
	s.t.Helper()
	require.Equal(s.t, http.StatusOK, s.Status, s.Body)
	require.Equal(s.t, "DONE", at(s.t, s.value(), "act", "state"))
	require.Equal(s.t, at(s.t, s.value(), "id"), at(s.t, s.value(), "act", "made", 0))
	return at(s.t, s.value(), "id").(string)
}

// A program makes tasks, runs of them and plans by the API alone, with all that the functions take.
func TestTasksRunsAndPlansAreMade(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	const report = `"name": "report", "type": "NOOP", "payload": {"sleep": "1ms", "fail": "it says <so>"}, "queue": "slow", "priority": 3, "timeout": 90,
		"progress_timeout": "1 min", "max_attempts": 4, "retry_delay": "5 s", "on_stale": "RETRY", "labels": {"team": "a"}`
	task := b.post("tasks", "", report).done()
	require.True(t, query[bool](t, b.conn, `SELECT name = 'report' AND type = 'NOOP' AND payload = '{"sleep": "1ms", "fail": "it says <so>"}' AND queue = 'slow' AND priority = 3
		AND timeout = '90 s' AND progress_timeout = '1 min' AND max_attempts = 4 AND retry_delay = '5 s' AND on_stale = 'RETRY' AND labels = '{"team": "a"}'
		FROM rowrun.task WHERE id = $1::bigint`, task))
	require.Equal(t, task, b.post("tasks", "", `"name": "report", "type": "NOOP", "max_attempts": 2`).done(), "it is brought up to date")
	require.True(t, query[bool](t, b.conn, `SELECT max_attempts = 2 AND queue = 'default' AND timeout IS NULL FROM rowrun.task`))
	moved := b.post("tasks", "", `"name": "move", "type": "SQL", "database_id": "orders", "version": "1.10", "sequential": true, "payload": {"sql": "SELECT 1"}`).done()
	require.True(t, query[bool](t, b.conn, `SELECT database_id = 'orders' AND version = '1.10' AND sequential FROM rowrun.task WHERE id = $1::bigint`, moved))

	first := b.post("runs", "", `"task": "report"`).done()
	require.True(t, query[bool](t, b.conn, `SELECT input = '{}' AND run_at <= now() AND status = 'AVAILABLE' FROM rowrun.task_run WHERE id = $1::bigint`, first))
	const later = `"task": "report", "input": {"day": "2026-11-01", "n": 12345678901234567890}, "run_at": "2099-01-02T03:04:05.000006+01:00", "priority": -7, "idempotency_key": "k"`
	second := b.post("runs", "", later+`, "after": ["`+first+`"]`).done()
	require.True(t, query[bool](t, b.conn, `SELECT input = '{"day": "2026-11-01", "n": 12345678901234567890}' AND run_at = '2099-01-02 02:04:05.000006+00' AND priority = -7
		AND idempotency_key = 'k' AND status = 'PENDING' AND EXISTS (SELECT FROM rowrun.waiting(r.id) w WHERE w.cause = 'DEPENDENCY')
		FROM rowrun.task_run r WHERE id = $1::bigint`, second))
	require.Equal(t, second, b.post("runs", "", later).done(), "the key has a run")
	third := b.post("runs", "", `"task": "`+task+`"`).done()
	require.Equal(t, task, query[string](t, b.conn, `SELECT task_id::text FROM rowrun.task_run WHERE id = $1::bigint`, third), "by its id")

	plan := b.post("plans", "", `"name": "ship", "project": "shop", "parallel_limit": 2, "on_failure": "STOP", "on_finish_task": "report", "tasks": [
		{"name": "build", "type": "NOOP", "timeout": 60}, {"name": "push", "type": "NOOP", "depends_on": ["build"]}]`).done()
	require.True(t, query[bool](t, b.conn, `SELECT name = 'ship' AND project = 'shop' AND parallel_limit = 2 AND on_failure = 'STOP' AND on_finish_task = 'report' FROM rowrun.plan WHERE id = $1::bigint`, plan))
	require.Equal(t, 1, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_dependency`))
	ran := b.act(body("run", `{"kind": "plan", "ids": ["`+plan+`"]}`, ""))
	require.Len(t, at(t, ran.value(), "made"), 2, ran.Body)

	// Each stands among the acts and on the stream, by whom and what; the documents stand where they were made.
	for id, want := range map[string]string{
		task:   "alice asked for: define of task report",
		plan:   "alice asked for: create of plan ship",
		second: "alice asked for: run of task report",
	} {
		what := map[string]string{task: "task_id", plan: "plan_id", second: "run_id"}[id]
		require.True(t, query[bool](t, b.conn, `SELECT EXISTS (SELECT FROM rowrun.stream_note WHERE event = 'act.asked' AND message = $1 AND detail ->> $2 = $3 AND detail ->> 'by' = 'alice')`, want, what, id), want)
	}
	require.True(t, query[bool](t, b.conn, `SELECT bool_and(detail ->> 'task_id' = $1) FROM rowrun.stream_note WHERE detail ->> 'act' = 'run' AND detail ->> 'kind' = 'task'`, task))
	require.False(t, query[bool](t, b.conn, `SELECT EXISTS (SELECT FROM rowrun.act a WHERE a::text ~ 'day|sleep')`))
	require.Equal(t, second, at(t, b.get("runs?act="+query[string](t, b.conn, `SELECT min(id)::text FROM rowrun.act WHERE made = ARRAY[$1::bigint] AND verb = 'run'`, second)), "items", 0, "id"))
}

// Sent again, at once or later, a request makes nothing more; what was refused may be sent again.
func TestWhatIsMadeIsMadeOncePerRequest(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	require.Equal(t, http.StatusNotFound, b.post("runs", someID, `"task": "report"`).Status)
	require.Zero(t, query[int](t, b.conn, `SELECT count(*) FROM rowrun.act`), "what was refused is not recorded")
	b.post("tasks", "", `"name": "report", "type": "NOOP"`).done()
	var answers [5]sent
	var sending sync.WaitGroup
	for i := range answers {
		sending.Go(func() { answers[i] = b.post("runs", someID, `"task": "report", "input": {"a": 1}`) })
	}
	sending.Wait()
	for _, s := range answers {
		require.Equal(t, answers[0].done(), s.done())
	}
	require.Equal(t, 1, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run`))
	require.Equal(t, 1, query[int](t, b.conn, `SELECT count(*) FROM rowrun.stream_note WHERE event = 'act.asked' AND detail ->> 'act' = 'run'`))
	change(t, b.conn, `UPDATE rowrun.task SET name = 'renamed'`)
	require.Equal(t, answers[0].done(), b.post("runs", someID, `"task": "report", "input": {"a": 1}`).done())
	for _, other := range []string{`"task": "report", "input": {"a": 2}`, `"task": "renamed", "input": {"a": 1}`} {
		require.Equal(t, http.StatusConflict, b.post("runs", someID, other).Status, other)
	}
	require.Equal(t, http.StatusConflict, b.post("plans", someID, `"tasks": []`).Status)
	one := uuid.NewString()
	plan := b.post("plans", one, `"name": "once", "tasks": []`).done()
	require.Equal(t, plan, b.post("plans", one, `"name": "once", "tasks": []`).done())
	require.Equal(t, 1, query[int](t, b.conn, `SELECT count(*) FROM rowrun.plan`))
}

func TestWhatCanNotBeMadeIsRefusedInWords(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.post("tasks", "", `"name": "report", "type": "NOOP"`).done()
	b.post("tasks", "", `"name": "move", "type": "SQL", "database_id": "orders", "payload": {"sql": "SELECT 1"}`).done()
	acts := query[int](t, b.conn, `SELECT count(*) FROM rowrun.act`)
	for _, wrong := range []struct {
		path, members string
		status        int
		code, says    string
	}{
		{"runs", `"task": "reprot"`, http.StatusNotFound, "not_found", `no task named`},
		{"runs", `"task": ""`, http.StatusBadRequest, "bad_request", "task is missing"},
		{"runs", `"task": "report", "run_at": "tomorrow"`, http.StatusBadRequest, "bad_request", "run_at"},
		{"runs", `"task": "report", "after": ["x"]`, http.StatusBadRequest, "bad_request", "after"},
		{"runs", `"task": "report", "when": "now"`, http.StatusBadRequest, "bad_request", "when"},
		{"runs", `"task": "report", "input": [1]`, http.StatusBadRequest, "23514", "input"},
		{"runs", `"task": "move", "input": {"sql": "DROP TABLE a"}`, http.StatusConflict, "RR003", "sql"},
		{"tasks", `"type": "NOOP"`, http.StatusBadRequest, "bad_request", "name or type is missing"},
		{"tasks", `"name": "a", "type": "DATABASE_MIGRATE"`, http.StatusBadRequest, "23514", ""},
		{"tasks", `"name": "a", "type": "NOOP", "timeout": "long"`, http.StatusBadRequest, "22007", "long"},
		{"plans", `"name": "a"`, http.StatusBadRequest, "bad_request", "tasks is missing"},
		{"plans", `"name": "a", "tasks": {}`, http.StatusConflict, "RR003", "tasks is no array"},
		{"plans", `"name": "a", "tasks": [{"name": "x", "kind": "NOOP"}]`, http.StatusConflict, "RR003", "kind is none of its members"},
		{"plans", `"name": "a", "tasks": [{"name": "x", "type": "NOOP", "depends_on": ["y"]}]`, http.StatusConflict, "RR003", "depends on 'y', which is none"},
	} {
		s := b.post(wrong.path, "", wrong.members)
		require.Equal(t, wrong.status, s.Status, "%v %s", wrong, s.Body)
		require.Equal(t, wrong.code, at(t, s.value(), "error", "code"), s.Body)
		require.Contains(t, at(t, s.value(), "error", "message"), wrong.says, s.Body)
	}
	require.Equal(t, http.StatusBadRequest, b.ask(http.MethodPost, "/api/v1/runs", `{"task": "report"}`, "Authorization", asAlice).Status, "no request_id")
	require.Equal(t, acts, query[int](t, b.conn, `SELECT count(*) FROM rowrun.act`))
	require.Zero(t, query[int](t, b.conn, `SELECT (SELECT count(*) FROM rowrun.task_run) + (SELECT count(*) FROM rowrun.plan)`))
	large := b.post("tasks", "", `"name": "large", "type": "NOOP", "payload": {"text": "`+strings.Repeat("x", 1<<19)+`"}`)
	require.Equal(t, http.StatusOK, large.Status, "more than an act's body, less than what a document may have")
}

// Two keys were one, where both had bytes or escapes that are no character.
func TestTextThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.post("tasks", "", `"name": "report", "type": "NOOP"`).done()
	change(t, b.conn, `INSERT INTO rowrun.task (type, name) VALUES ('NOOP', U&'\FFFD')`)
	for _, none := range []string{"\xe9", "\xed\xa0\x80", `\ud800`, `\udc00\ud800`, `\ud83dx`, `\ud83d\n`, `\ud83d\u0041`, `\\\udfff`} {
		for path, members := range map[string]string{
			"runs":  `"task": "report", "idempotency_key": "` + none + `"`,
			"tasks": `"name": "a", "type": "NOOP", "queue": "` + none + `"`,
			"plans": `"tasks": [], "name": "` + none + `"`,
		} {
			s := b.post(path, "", members)
			require.Equal(t, http.StatusBadRequest, s.Status, "%s %q %s", path, none, s.Body)
			require.Contains(t, at(t, s.value(), "error", "message"), "the body is not UTF-8", path)
		}
		require.Equal(t, http.StatusBadRequest, b.post("runs", "", `"task": "`+none+`"`).Status, none)
		require.Equal(t, http.StatusBadRequest, b.act(body("run", `{"kind": "task", "filter": {"name": "`+none+`"}}`, "")).Status, none)
	}
	for _, members := range []string{`"task": "report", "idempotency_key": "a\u0000"`, `"task": "a\u0000"`, `"task": "report", "input": {"a": "\u0000"}`} {
		require.Equal(t, http.StatusBadRequest, b.post("runs", "", members).Status, members)
	}
	require.Zero(t, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run`))
	for _, key := range []string{`\ud83d\ude00`, "\U0001F600", `\\ud800`, `\ufffd`, `\u00e9\"\\`} {
		b.post("runs", "", `"task": "report", "idempotency_key": "`+key+`"`).done()
	}
	require.Equal(t, 4, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run`), "the first two are one key")
}

func TestNobodyMakesAnythingWhereTheDashboardIsReadOnly(t *testing.T) {
	t.Parallel()
	b := start(t, func(c *api.Config, _ *server.Config) { c.ReadOnly = true })
	for path, members := range map[string]string{"tasks": `"name": "a", "type": "NOOP"`, "runs": `"task": "a"`, "plans": `"tasks": []`} {
		require.Equal(t, http.StatusForbidden, b.post(path, "", members).Status, path)
	}
	require.Zero(t, query[int](t, b.conn, `SELECT (SELECT count(*) FROM rowrun.task) + (SELECT count(*) FROM rowrun.plan)`))
}

// A run of each of many tasks may be asked for later than now.
func TestTasksAreRunAtATime(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	change(t, b.conn, `INSERT INTO rowrun.task (type, name) VALUES ('NOOP', 'a'), ('NOOP', 'b')`)
	s := b.act(body("run", `{"kind": "task", "filter": {"type": "NOOP"}}`, `{"run_at": "2099-01-02T03:04:05Z"}`))
	require.Equal(t, "2", at(t, s.value(), "done"), s.Body)
	require.Equal(t, 2, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run WHERE run_at = '2099-01-02 03:04:05+00' AND status = 'PENDING'`))
	require.Equal(t, http.StatusBadRequest, b.act(body("run", `{"kind": "task", "ids": ["1"]}`, `{"run_at": "soon"}`)).Status)
	require.Equal(t, http.StatusBadRequest, b.act(body("retry", `{"kind": "task", "ids": ["1"]}`, `{"run_at": "2099-01-02T03:04:05Z"}`)).Status)
}
