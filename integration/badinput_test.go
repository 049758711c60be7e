package integration_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// serveEverything starts a replica that runs every type: an app below /app, the database orders, the command nothing.
func serveEverything(t *testing.T, d *database, w *witness) *replica {
	t.Helper()
	return serve(t, d.url, rareSweeps(), []string{"--app-url", w.url + "/app/"}, configFile(t, fmt.Sprintf(
		"databases: {orders: {url: %q}}\ncommands: {nothing: {path: /bin/true, args: ['{day}'], types: {day: date}}}", storetest.Empty(t))))
}

func TestWhatNobodyCanRunWaitsAndSaysSo(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	serveEverything(t, d, w)
	for what, c := range map[string]struct {
		kind, payload string
		more          columns
		status        string // runs with a database_id aren't promoted before somebody can run them
	}{
		"queue":           {"NOOP", `{}`, columns{"queue": "nobody serves it"}, "AVAILABLE"},
		"type":            {"OWN_TYPE", `{}`, nil, "AVAILABLE"},
		"target":          {"SQL", `{"sql": "SELECT 1"}`, columns{"database_id": "billing"}, "PENDING"},
		"migrated target": {"DATABASE_MIGRATE", `{"sql": "SELECT 1"}`, columns{"database_id": "billing", "version": "1"}, "PENDING"},
		"command":         {"COMMAND", `{"command": "unknown"}`, nil, "AVAILABLE"},
	} {
		id := d.job(t, c.kind, c.payload, c.more)
		eventually(t, patience, what, func() bool {
			r := d.look(t, id)
			require.NotContains(t, []string{"RUNNING", "DONE", "FAILED"}, r.Status, what)
			return r.Status == c.status
		})
		require.Contains(t, list[string](t, d, "SELECT cause FROM rowrun.waiting($1)", id), "NO_REPLICA", what)
		for _, message := range list[string](t, d, "SELECT message FROM rowrun.waiting($1)", id) {
			t.Logf("%s: %s", what, message)
			require.NotEmpty(t, message)
		}
	}

	// It is run as soon as somebody can.
	id := d.job(t, "NOOP", `{}`, columns{"queue": "late"})
	d.await(t, id, "AVAILABLE")
	serve(t, d.url, rareSweeps(), []string{"--queues", "late"})
	d.await(t, id, "DONE")
}

func TestWrongPayloadFailsWithoutRetry(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	serveEverything(t, d, w)
	orders := "orders"
	for _, c := range []struct {
		kind, payload string
		database      *string
	}{
		{"HTTP", `{}`, nil},
		{"HTTP", `{"path": 5}`, nil},
		{"HTTP", `{"path": null}`, nil},
		{"HTTP", `{"path": "/../ok"}`, nil},
		{"HTTP", `{"path": "/%2e%2e/ok"}`, nil},
		{"HTTP", `{"path": "http://127.0.0.1:1/ok"}`, nil},
		{"HTTP", `{"path": "//127.0.0.1:1/ok"}`, nil},
		{"HTTP", `{"path": "/ok", "method": "BREW"}`, nil},
		{"HTTP", `{"path": "/ok", "headers": ["a"]}`, nil},
		{"SQL", `{}`, &orders},
		{"SQL", `{"sql": 5}`, &orders},
		{"SQL", `{"sql": "SELECT 1", "transaction": "yes"}`, &orders},
		{"SQL", `{"sql": "SELECT 1; COMMIT"}`, &orders},
		{"SQL", `{"sql": "SELECT 1"}`, nil},
		{"COMMAND", `{}`, nil},
		{"COMMAND", `{"command": 5}`, nil},
		{"COMMAND", `{"command": "nothing"}`, nil},
		{"COMMAND", `{"command": "nothing", "args": {"day": "yesterday"}}`, nil},
		{"COMMAND", `{"command": "nothing", "args": {"day": "2026-11-21", "more": "x"}}`, nil},
		{"NOOP", `{"sleep": "a while"}`, nil},
	} {
		id := d.job(t, c.kind, c.payload, columns{"database_id": c.database, "max_attempts": 3, "retry_delay": "0 s"})
		r := d.await(t, id, "FAILED")
		require.Equal(t, "BAD_INPUT", r.Code, "%s %s: %s", c.kind, c.payload, r.Detail)
		require.NotEmpty(t, r.Detail)
		require.Nil(t, r.RetryRunID, "%s %s", c.kind, c.payload)
	}
	require.Zero(t, w.total(), "nothing of it reached the app")
}
