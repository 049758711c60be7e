package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/api"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
)

// A limit is listed with who holds its places and who waits, and each act on it does what it says, once.
func TestLimitsAreShownAndSteered(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	change(t, b.conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('none at all/ever', 'NOOP', 0), ('each', 'MAIL', 1)`)
	change(t, b.conn, `UPDATE rowrun.concurrency_limit SET key_path = '{tenant}' WHERE name = 'each'`)
	change(t, b.conn, `INSERT INTO rowrun.task (type, name) VALUES ('NOOP', 'held'), ('MAIL', 'mail')`)
	change(t, b.conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE name = 'held'`)
	change(t, b.conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT id, '{"tenant": "acme"}' FROM rowrun.task WHERE name = 'mail'`)

	all := b.get("limits")
	require.Equal(t, "each", at(t, all, "items", 0, "name"))
	require.Equal(t, "1", at(t, all, "items", 1, "waiting"))
	const path = "limits/none%20at%20all%2Fever"
	one := b.get(path)
	require.Equal(t, "held", at(t, one, "waiting_runs", 0, "task"))
	require.Equal(t, "0", at(t, one, "max_running"))
	each := b.get("limits/each")
	require.Nil(t, at(t, each, "of_key"))
	require.Equal(t, "acme", at(t, each, "keys", 0, "key"))
	require.Equal(t, "mail", at(t, b.get("limits/each?key=acme"), "waiting_runs", 0, "task"))
	require.Equal(t, http.StatusNotFound, b.ask(http.MethodGet, "/api/v1/limits/other", "").Status)
	run := b.get("runs/" + query[string](t, b.conn, `SELECT min(id)::text FROM rowrun.task_run`))
	require.Equal(t, []any{"none at all/ever"}, at(t, run, "limits"))
	require.Contains(t, b.get("doctor"), "items")

	const on = `{"kind": "limit", "ids": ["none at all/ever"]}`
	require.Equal(t, "1", at(t, b.act(`{"act": "delete", "on": `+on+`, "preview": true}`).value(), "count"))
	for _, step := range []struct{ act, args, holds string }{
		{"limit", `{"limit": 2}`, `SELECT max_running = 2 FROM rowrun.concurrency_limit WHERE name LIKE 'none%'`},
		{"limit", `{"limit": 0}`, `SELECT max_running = 0 FROM rowrun.concurrency_limit WHERE name LIKE 'none%'`},
		{"limit", `{"limit": null}`, `SELECT max_running IS NULL FROM rowrun.concurrency_limit WHERE name LIKE 'none%'`},
		{"pause", `{"until": "2199-01-01T10:00:00Z"}`, `SELECT not_before = '2199-01-01 10:00+00' FROM rowrun.concurrency_limit WHERE name LIKE 'none%'`},
		{"resume", `{}`, `SELECT not_before IS NULL FROM rowrun.concurrency_limit WHERE name LIKE 'none%'`},
		{"delete", `{}`, `SELECT count(*) = 1 FROM rowrun.concurrency_limit`},
	} {
		for _, done := range []string{"1", "0"} {
			s := b.act(body(step.act, on, step.args))
			require.Equal(t, http.StatusOK, s.Status, s.Body)
			require.Equal(t, done, at(t, s.value(), "done"), "%s %s", step.act, s.Body)
			require.True(t, query[bool](t, b.conn, step.holds), step.act)
		}
	}
	const plan = `{"kind": "plan", "ids": ["1"]}`
	for _, wrong := range []string{
		body("pause", on, `{}`), body("pause", on, `{"until": "tomorrow"}`), body("delete", `{"kind": "limit", "filter": {}}`, ""),
		body("limit", on, `{"limit": -1}`), body("limit", on, `{"limit": "2"}`), body("limit", plan, `{"limit": 0}`), body("limit", plan, `{"limit": 1.5}`),
		body("limit", on, `{}`), body("limit", plan, `{}`), body("limit", plan, ""), // which would lift what they don't name
	} {
		require.Equal(t, http.StatusBadRequest, b.act(wrong).Status, wrong)
	}
}

// A key comes from a payload: where these are hidden it is too, also in the words of why a run waits.
func TestKeysOfLimitsAreHiddenWithTheData(t *testing.T) {
	t.Parallel()
	b := start(t, func(c *api.Config, _ *server.Config) { c.HideData = true })
	change(t, b.conn, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('each', '{tenant}', 0)`)
	change(t, b.conn, `INSERT INTO rowrun.task (type, name) VALUES ('NOOP', 'held')`)
	change(t, b.conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT id, '{"tenant": "acme-and-co"}' FROM rowrun.task`)
	run := query[string](t, b.conn, `SELECT min(id)::text FROM rowrun.task_run`)
	for _, path := range []string{"limits", "limits/each", "runs/" + run, "runs"} {
		s := b.ask(http.MethodGet, "/api/v1/"+path, "")
		require.Equal(t, http.StatusOK, s.Status, path)
		require.NotContains(t, s.Body, "acme-and-co", path)
	}
	require.Contains(t, b.ask(http.MethodGet, "/api/v1/runs/"+run, "").Body, "limit each: 0 of 0 places taken")
	require.Equal(t, http.StatusBadRequest, b.ask(http.MethodGet, "/api/v1/limits/each?key=acme-and-co", "").Status)
}
