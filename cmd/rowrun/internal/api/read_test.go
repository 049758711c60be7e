package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/api"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
)

func TestARolloutIsTold(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	plan := strconv.FormatInt(b.rollout(), 10)

	found := b.get("plans")
	require.Equal(t, plan, at(t, found, "items", 0, "id"))
	require.Equal(t, "1", at(t, found, "items", 0, "counts", "FAILED"))
	require.Nil(t, at(t, found, "next"))
	require.Len(t, at(t, b.get("plans?status=DONE"), "items"), 0)
	require.Len(t, at(t, b.get("plans?status=FAILED&q=SHI"), "items"), 1)

	one := b.get("plans/" + plan)
	require.Equal(t, "FAILED", at(t, one, "status"))
	require.NotNil(t, at(t, one, "started_at"))
	require.Nil(t, at(t, one, "ended_at"), "something waits")

	grid := b.get("plans/" + plan + "/grid")
	require.Equal(t, []any{"orders", "stock"}, at(t, grid, "databases"))
	require.Equal(t, []any{"1.9", "1.10"}, at(t, grid, "versions"), "number by number")
	require.Equal(t, []any{"F", "P", "D", "P"}, at(t, grid, "tasks", "status"))
	require.Equal(t, "relation ... of run ... is missing", at(t, grid, "errors", 0, "text"))
	require.Equal(t, "42P01", at(t, grid, "errors", 0, "code"))
	require.Equal(t, "0", at(t, grid, "tasks", "error_group", 0))
	require.Equal(t, "-1", at(t, grid, "tasks", "error_group", 2))

	token := at(t, grid, "token").(string)
	same := b.get("plans/" + plan + "/grid?since=" + token)
	require.Equal(t, false, at(t, same, "full"))
	require.Empty(t, at(t, same, "tasks", "id"))
	change(t, b.conn, `UPDATE rowrun.task SET paused = true WHERE name = 'stock 1.10'`)
	require.Eventually(t, func() bool {
		changed := b.get("plans/" + plan + "/grid?since=" + token)
		return at(t, changed, "full") == false && fmt.Sprint(at(t, changed, "tasks", "paused")) == "[1]"
	}, testPatience, testLook)
	require.Equal(t, true, at(t, b.get("plans/"+plan+"/grid?since=of.9"), "full"), "a token of another process")

	edges := b.get("plans/" + plan + "/edges")
	require.Len(t, at(t, edges, "task"), 1)
	moments := b.get("plans/" + plan + "/transitions?limit=3")
	require.Len(t, at(t, moments, "run_id"), 3)
	moments = b.get("plans/" + plan + "/transitions?cursor=" + at(t, moments, "next").(string))
	require.Len(t, at(t, moments, "run_id"), 1)
	require.Nil(t, at(t, moments, "next"))
	preview := b.get("plans/" + plan + "/preview")
	require.Equal(t, "1", at(t, preview, "retry", "count"))
	require.Equal(t, "2", at(t, preview, "cancel", "count"))
	require.Equal(t, "0", at(t, preview, "run", "count"))
}

func TestARunIsToldWithWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.rollout()
	id := query[string](t, b.conn, `SELECT r.id::text FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE k.name = 'orders 1.10'`)
	run := b.get("runs/" + id)
	require.Equal(t, "orders 1.10", at(t, run, "task"))
	require.Equal(t, "ship", at(t, run, "plan"))
	causes := map[any]bool{}
	for i := range at(t, run, "waiting").([]any) {
		causes[at(t, run, "waiting", i, "cause")] = true
	}
	require.True(t, causes["PLAN_FAILED"], causes)
	for i := range at(t, run, "gates").([]any) {
		name := at(t, run, "gates", i, "gate")
		switch matched := at(t, run, "gates", i, "matched"); name {
		case "PLAN_FAILED":
			require.Equal(t, false, matched)
			require.NotEmpty(t, at(t, run, "gates", i, "message"))
		case "RUN_AT":
			require.Equal(t, true, matched)
		case "PLAN_LIMIT", "DEPENDENCY":
			require.Nil(t, matched, name)
		}
	}
	require.Equal(t, "PENDING", at(t, run, "timeline", 0, "phase"))
	require.Equal(t, false, at(t, run, "may", "cancel"), "nobody is signed in")
	signedIn := b.ask(http.MethodGet, "/api/v1/runs/"+id, "", "Authorization", asAlice).value()
	require.Equal(t, true, at(t, signedIn, "may", "cancel"))

	failed := b.get("runs?failed=1")
	require.Equal(t, "relation \"a7\" of run 17 is missing", at(t, failed, "items", 0, "detail"))
	require.Equal(t, at(t, failed, "items", 0, "id"), at(t, b.get("runs?text=A7"), "items", 0, "id"))
	require.Equal(t, at(t, failed, "items", 0, "id"), at(t, b.get("runs?text=42P01"), "items", 0, "id"))
	require.Len(t, at(t, b.get("runs?status=PENDING"), "items"), 2)
	require.Len(t, at(t, b.get("runs?status=DONE,FAILED&database=stock"), "items"), 1)
	require.Len(t, at(t, b.get("runs?task=stock%201.9"), "items"), 1)
	require.Empty(t, at(t, b.get("runs?task=nothing"), "items"))
}

func TestGatesThatAreNotAskedNameWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	id := query[string](t, b.conn, `SELECT rowrun.run_task(rowrun.define_task('alone', 'NOOP'))::text`)
	run := b.get("runs/" + id)
	terms := map[any]any{}
	for i := range at(t, run, "gates").([]any) {
		if at(t, run, "gates", i, "matched") == nil {
			terms[at(t, run, "gates", i, "gate")] = at(t, run, "gates", i, "term")
		}
	}
	require.Equal(t, map[any]any{
		"VERSION": "no version on a database", "DATABASE_BUSY": "no database", "PLAN_LIMIT": "no limit",
		"DEPENDENCY": "it depends on nothing", "PLAN_FAILED": "no plan", "NO_REPLICA": "a live replica can run it",
	}, terms)
}

func TestListsGoOnByTheirKeys(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	change(t, b.conn, `INSERT INTO rowrun.task (type, name) SELECT 'NOOP', 'task ' || n FROM generate_series(1, 7) n`)
	change(t, b.conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task ORDER BY id`)
	change(t, b.conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'x'`)
	change(t, b.conn, `UPDATE rowrun.task_run SET status = 'FAILED', result = '{"detail": "no"}' WHERE id <> 2`)
	for _, path := range []string{"runs?limit=3", "runs?limit=3&order=oldest", "runs?limit=2&failed=1", "tasks?limit=3", "runs?limit=4&status=FAILED", "tasks?limit=2&status=FAILED&plan=none"} {
		seen := map[string]bool{}
		next := ""
		for range 9 {
			page := b.get(path + next)
			for i := range at(t, page, "items").([]any) {
				id := at(t, page, "items", i, "id").(string)
				require.False(t, seen[id], path)
				seen[id] = true
			}
			cursor, more := at(t, page, "next").(string)
			if !more {
				break
			}
			next = "&cursor=" + cursor
		}
		want := 7
		if strings.Contains(path, "ailed=1") || strings.Contains(path, "FAILED") {
			want = 6
		}
		require.Len(t, seen, want, path)
	}
	require.Equal(t, "1", at(t, b.get("runs?limit=1&order=oldest"), "items", 0, "id"))
	change(t, b.conn, `SET session_replication_role = replica; UPDATE rowrun.task_run SET created_at = '2026-01-01 00:00Z'::timestamptz + id * interval '1 day'`)
	for words, want := range map[string]string{
		"since=2026-01-07T00:00:00Z": "[7 6]", "until=2026-01-03T00:00:00Z": "[1]", "since=2026-01-03T00:00:00Z&until=2026-01-05T00:00:00Z": "[3 2]",
		"since=2027-01-01T00:00:00Z": "[]", "until=2020-01-01T00:00:00Z": "[]", "since=2026-01-03T00:00:00Z&until=2026-01-05T00:00:00Z&order=oldest": "[2 3]",
		"until=2026-01-05T00:00:00Z&status=RUNNING": "[2]", "until=2026-01-05T00:00:00Z&text=no&limit=2": "[3 1]",
	} {
		ids := []any{}
		page := b.get("runs?" + words)
		for i := range at(t, page, "items").([]any) {
			ids = append(ids, at(t, page, "items", i, "id"))
		}
		require.Equal(t, want, fmt.Sprint(ids), words)
	}
	require.Equal(t, "2", at(t, b.get("runs?status=RUNNING"), "items", 0, "id"))
}

// What is longer ago than the process remembers is told by the rows.
func TestTheOverviewTellsOfADayAndAWeekFromTheRows(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.failures(12)
	change(t, b.conn, `SET session_replication_role = replica; UPDATE rowrun.task_run SET run_at = x.at, created_at = x.at, started_at = x.at + interval '250 ms', finished_at = x.at + interval '1 s'
		FROM (SELECT n, now() - (13 - n) * interval '12 hours' AS at FROM generate_series(1, 12) n) x WHERE x.n = id`)
	for length, want := range map[string]struct{ steps, inserted, failed int }{"24h": {48, 1, 1}, "7d": {56, 12, 12}} {
		h := at(t, b.get("overview?range="+length), "history")
		require.Equal(t, "rows", at(t, h, "source"))
		inserted, failed, started := 0, 0, 0
		for i := range at(t, h, "at").([]any) {
			for sum, name := range map[*int]string{&inserted: "inserted", &failed: "failed"} {
				n, err := strconv.Atoi(at(t, h, name, i).(string))
				require.NoError(t, err)
				*sum += n
			}
			if p50 := at(t, h, "start_latency_p50_ms", i); p50 != nil {
				require.Equal(t, "250", p50)
				started++
			}
		}
		require.Len(t, at(t, h, "at"), want.steps, length)
		require.InDelta(t, want.inserted, inserted, 1, length)
		require.InDelta(t, want.failed, failed, 1, length)
		require.Positive(t, started, length)
	}
	require.Equal(t, "deployment", at(t, b.get("overview?range=1h"), "history", "source"))
	require.Equal(t, http.StatusBadRequest, b.ask(http.MethodGet, "/api/v1/overview?range=2h", "").Status)
}

// Each list and page answers where there is nothing, and where there is something, with what openapi.json promises.
func TestEveryPathAnswersWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
		Components struct{ Schemas map[string]map[string]any }
	}
	s := b.ask(http.MethodGet, "/api/v1/openapi.json", "")
	require.NoError(t, json.Unmarshal([]byte(s.Body), &doc))
	check := &shape{t: t, schemas: doc.Components.Schemas}
	ids := map[string]string{}
	for _, filled := range []bool{false, true} {
		if filled {
			plan := b.rollout()
			change(t, b.conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, types) VALUES ('one', now(), '{NOOP}')`)
			change(t, b.conn, `INSERT INTO rowrun.webhook (url) VALUES ('https://app.example/hook')`)
			change(t, b.conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload) VALUES (1, $1, 1, 'PIPELINE_FAILED', 'm', '{}')`, plan)
			change(t, b.conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, run_id, root_id, task_id, task_type, event_type, message_id, payload) SELECT 1, min(id), min(id), min(task_id), 'NOOP', 'RUN_FAILED', 'n', '{}' FROM rowrun.task_run`)
			change(t, b.conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, task_type, event_type, message_id, payload) VALUES (1, 'NOOP', 'TYPE_ORPHANED', 'o', '{}')`)
			change(t, b.conn, `INSERT INTO rowrun.task (type, name, schedule) VALUES ('NOOP', 'nightly', '@daily')`)
			change(t, b.conn, `INSERT INTO rowrun.task_run_log (task_run_id, type) SELECT min(id), 'x' FROM rowrun.task_run`)
			change(t, b.conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running, rate, per) VALUES ('two', 'NOOP', 2, 5, '1 min')`)
			change(t, b.conn, `INSERT INTO rowrun.task_run (task_id) SELECT max(id) FROM rowrun.task WHERE type = 'NOOP' AND plan_id IS NULL`)
			made := b.act(`{"request_id": "` + someID + `", "act": "pause", "on": {"kind": "plan", "ids": ["` + strconv.FormatInt(plan, 10) + `"]}}`)
			require.Equal(t, http.StatusOK, made.Status, made.Body)
			ids = map[string]string{
				"plans": strconv.FormatInt(plan, 10), "runs": query[string](t, b.conn, `SELECT min(id)::text FROM rowrun.task_run`),
				"tasks": query[string](t, b.conn, `SELECT min(id)::text FROM rowrun.task`), "webhooks": "1", "deliveries": "2", "acts": at(t, made.value(), "act_id").(string), "limits": "two",
			}
		}
		for path, methods := range doc.Paths {
			if _, ok := methods["get"]; !ok || path == "/openapi.json" {
				continue
			}
			word, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
			if strings.Contains(path, "{id}") {
				if ids[word] == "" {
					s := b.ask(http.MethodGet, "/api/v1"+strings.ReplaceAll(path, "{id}", "99"), "")
					require.Contains(t, []int{404, 200}, s.Status, path)
					continue
				}
				path = strings.ReplaceAll(path, "{id}", ids[word])
			}
			s := b.ask(http.MethodGet, "/api/v1"+path, "")
			require.Equal(t, http.StatusOK, s.Status, path+" "+s.Body)
			check.value(path, methods["get"].Responses["200"].Content["application/json"].Schema, s.value())
		}
	}
}

const someID = "0d9a4a4e-6f39-4a34-8d43-3a6b7a3a4b10"

// shape holds values against schemas: types, and that members are those that are named.
type shape struct {
	t       *testing.T
	schemas map[string]map[string]any
}

func (s *shape) members(schema map[string]any, into map[string]any) {
	if ref, ok := schema["$ref"].(string); ok {
		schema = s.schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	}
	for _, part := range list(schema["allOf"]) {
		s.members(part.(map[string]any), into)
	}
	if named, ok := schema["properties"].(map[string]any); ok {
		for name, one := range named {
			into[name] = one
		}
	}
}

func list(value any) []any {
	all, _ := value.([]any)
	return all
}

func (s *shape) value(path string, schema map[string]any, value any) {
	s.t.Helper()
	if options := list(schema["anyOf"]); len(options) > 0 {
		if value == nil {
			return
		}
		schema = options[0].(map[string]any)
	}
	members := map[string]any{}
	s.members(schema, members)
	switch value := value.(type) {
	case map[string]any:
		if len(members) == 0 {
			return
		}
		for name, one := range value {
			require.Contains(s.t, members, name, path)
			s.value(path+"."+name, members[name].(map[string]any), one)
		}
		for name := range members {
			if name != "searched_to" { // only where a page ended at its bound
				require.Contains(s.t, value, name, path)
			}
		}
	case []any:
		items, ok := schema["items"].(map[string]any)
		require.True(s.t, ok || schema["type"] == nil, path)
		for i, one := range value {
			if ok {
				s.value(path+"["+strconv.Itoa(i)+"]", items, one)
			}
		}
	default:
		s.scalar(path, schema, value)
	}
}

func (s *shape) scalar(path string, schema map[string]any, value any) {
	s.t.Helper()
	types := list(schema["type"])
	if one, ok := schema["type"].(string); ok {
		types = []any{one}
	}
	if len(types) == 0 {
		return
	}
	is := "null"
	switch value := value.(type) {
	case string:
		is = "string"
	case bool:
		is = "boolean"
	case json.Number:
		is = "number"
		if !strings.ContainsAny(value.String(), ".eE") {
			types = append(types, "number")
			if !contains(types, "integer") && !contains(list(schema["type"]), "number") && schema["type"] != "number" {
				require.Fail(s.t, "a number", "%s: %v", path, value)
			}
		}
	}
	require.Contains(s.t, types, is, "%s: %v", path, value)
}

func contains(all []any, one string) bool {
	for _, x := range all {
		if x == one {
			return true
		}
	}
	return false
}

// Where messages go may be all that keeps strangers from a receiver: rowrun_viewer doesn't see it, and so who only reads here.
func TestOnlyOperatorsSeeWhereMessagesGo(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	change(t, b.conn, `INSERT INTO rowrun.webhook (url) VALUES ('https://hooks.example/s3cret')`)
	for _, path := range []string{"/api/v1/webhooks", "/api/v1/webhooks/1"} {
		require.NotContains(t, b.ask(http.MethodGet, path, "").Body, "s3cret")
		require.Contains(t, b.ask(http.MethodGet, path, "", "Authorization", asAlice).Body, "s3cret")
	}
}

func TestPayloadsCanBeHidden(t *testing.T) {
	t.Parallel()
	b := start(t, func(c *api.Config, _ *server.Config) { c.HideData = true })
	change(t, b.conn, `INSERT INTO rowrun.task (type, name, payload) VALUES ('NOOP', 'a', '{"sleep": "s3cret"}')`)
	change(t, b.conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES (1, '{"fail": "s3cret"}')`)
	change(t, b.conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'x', progress = '{"at": "s3cret"}'`)
	change(t, b.conn, `INSERT INTO rowrun.task_run_log (task_run_id, type, detail) VALUES (1, 'x', '{"a": "s3cret"}')`)
	change(t, b.conn, `UPDATE rowrun.task_run SET status = 'FAILED', result = '{"detail": "s3cret"}'`)
	change(t, b.conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload) VALUES (1, 1, 1, 'PIPELINE_FAILED', 'm', '{"a": "s3cret"}')`)
	for _, path := range []string{"runs", "runs/1", "runs?failed=1", "runs/1/log", "tasks", "tasks/1", "overview", "deliveries/1"} {
		s := b.ask(http.MethodGet, "/api/v1/"+path, "")
		require.Equal(t, http.StatusOK, s.Status, path)
		require.NotContains(t, s.Body, "s3cret", path)
	}
	for _, path := range []string{"runs?text=s", "tasks?text=s", "runs?error=s"} {
		require.Equal(t, http.StatusBadRequest, b.ask(http.MethodGet, "/api/v1/"+path, "").Status, "it would tell letter by letter")
	}
}
