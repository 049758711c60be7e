package sqlexec_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/sqlexec"
	"github.com/rowrun/rowrun/scheduler/targets"
	"github.com/rowrun/rowrun/store/storetest"
)

// nowhere is a target that no test may get as far as connecting to.
const nowhere = "postgres://u:geheim@127.0.0.1:1/d"

func TestBadInputIsFoundBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, payload, want string }{
		{"no object", `[]`, "must be an object"},
		{"null", `null`, "must be an object"},
		{"no sql", `{"SQL": "SELECT 1"}`, `has no "sql"`},
		{"sql null", `{"sql": null}`, `"sql" in the payload must be a string`},
		{"sql a number", `{"sql": 1}`, `"sql" in the payload must be a string`},
		{"sql empty", `{"sql": ""}`, "holds no statement"},
		{"sql a comment", `{"sql": "-- nothing"}`, "holds no statement"},
		{"transaction a string", `{"sql": "SELECT 1", "transaction": "no"}`, `"transaction" in the payload must be true or false`},
		{"transaction null", `{"sql": "SELECT 1", "transaction": null}`, `"transaction" in the payload must be true or false`},
		{"open string", `{"sql": "SELECT 1;\n SELECT 'a"}`, "a string that does not end begins in line 2, character 9"},
		{"psql", `{"sql": "\\copy t from x"}`, `commands of psql (\copy, \i, …) are not SQL; it stands in line 1, character 1`},
		{"nul", `{"sql": "SELECT \u0000"}`, "a NUL character"},
		{"commit", `{"sql": "SELECT 1;\nCOMMIT; SELECT 2"}`, "statement 2 of 3 (line 2, character 1) is COMMIT"},
		{"begin", `{"sql": "BEGIN", "transaction": true}`, `"transaction": false`},
		{"copy", `{"sql": "COPY t FROM STDIN"}`, "copies from or to the client"},
		{"copy by itself", `{"sql": "COPY t TO STDOUT", "transaction": false}`, "copies from or to the client"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := executor(t, sqlexec.Target{URL: nowhere})
			r := newRun(t, "", true)
			r.Payload = json.RawMessage(c.payload)
			_, err := x.Execute(t.Context(), r.Run)
			f := failure(t, err)
			require.Equal(t, scheduler.CodeBadInput, f.Code)
			require.False(t, f.Retryable)
			require.Contains(t, f.Detail, c.want)
			_, err = x.Migrate().Execute(t.Context(), r.Run)
			require.Equal(t, f, failure(t, err), "DATABASE_MIGRATE takes the same payload")
		})
	}
}

func TestBadInputOfTheTask(t *testing.T) {
	t.Parallel()
	x := executor(t, sqlexec.Target{URL: nowhere})
	for _, c := range []struct {
		name   string
		change func(*scheduler.Run)
		want   string
	}{
		{"no database", func(r *scheduler.Run) { r.DatabaseID = "" }, "no database_id"},
		{"unknown database", func(r *scheduler.Run) { r.DatabaseID = "parts" }, `no database "parts": add it to databases`},
		{"no version", func(r *scheduler.Run) { r.Version = "" }, "no version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, "SELECT 1", true)
			c.change(r.Run)
			_, err := x.Migrate().Execute(t.Context(), r.Run)
			f := failure(t, err)
			require.Equal(t, scheduler.CodeBadInput, f.Code)
			require.False(t, f.Retryable)
			require.Contains(t, f.Detail, c.want)
		})
	}
}

func TestUnknownKeysAreLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRun(t, "", true)
	r.Payload = json.RawMessage(`{"sql": "SELECT 1", "note": {"for": "others"}}`)
	_, err := executor(t, sqlexec.Target{URL: nowhere}).Execute(t.Context(), r.Run)
	f := failure(t, err)
	require.NotEqual(t, scheduler.CodeBadInput, f.Code)
	require.True(t, f.Retryable)
	require.Contains(t, f.Detail, `connect to database "orders"`)
	require.NotContains(t, f.Detail, "geheim")
	require.Len(t, r.of("error"), 1)
}

// Who reads runs learns what went wrong; where the target is stands in the process's own log, once.
func TestFailuresNameNoAddressOfATarget(t *testing.T) {
	t.Parallel()
	server, err := pgx.ParseConfig(storetest.New(t))
	require.NoError(t, err)
	for _, c := range []struct{ name, url, detail, logged string }{
		{"refused", nowhere, "connect: connection refused", "127.0.0.1:1"},
		{"several refused", "postgres://u:geheim@127.0.0.1:1,127.0.0.1:2/d", "connect: connection refused", "127.0.0.1:2"},
		{"no socket", "postgres://u:geheim@/d?host=/nonexistent/sockets", "connect: no such file or directory", "/nonexistent/sockets"},
		{"no name", "postgres://u:geheim@orders.invalid/d", "the host's name could not be resolved", "orders.invalid"},
		{"what a server says", fmt.Sprintf("postgres://%s@/nothing_there?host=%s&port=%d", server.User, server.Host, server.Port), `FATAL: database "nothing_there" does not exist (SQLSTATE 3D000)`, server.Host},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			x, err := sqlexec.New(sqlexec.Config{
				Targets: map[string]sqlexec.Target{"orders": {URL: c.url}}, Deployment: deployment, Log: zerolog.New(&log),
			})
			require.NoError(t, err)
			for range 2 {
				r := newRun(t, "SELECT 1", true)
				_, err = x.Execute(t.Context(), r.Run)
				require.Equal(t, `connect to database "orders": `+c.detail, failure(t, err).Detail)
				require.Equal(t, failure(t, err).Detail, r.of("error")[0]["detail"])
			}
			require.Equal(t, 1, strings.Count(log.String(), "could not connect to a target database"), log.String())
			require.Contains(t, log.String(), c.logged)
			require.NotContains(t, log.String(), "geheim")
		})
	}
}

func TestNewRefusesAndNeverShowsURLs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		config sqlexec.Config
		want   string
	}{
		{"deployment", sqlexec.Config{Deployment: "x"}, "Deployment must be a uuid"},
		{"no url", sqlexec.Config{Targets: map[string]sqlexec.Target{"a": {}}}, `database "a" has no url`},
		{"no name", sqlexec.Config{Targets: map[string]sqlexec.Target{"": {URL: nowhere}}}, "no name"},
		{"bad url", sqlexec.Config{Targets: map[string]sqlexec.Target{"a": {URL: "postgres://u:geheim@h:port/d"}}}, `database "a": url is not one`},
		{"lock timeout", sqlexec.Config{Targets: map[string]sqlexec.Target{"a": {URL: nowhere, LockTimeout: -1}}}, "lock_timeout is negative"},
		{"statement timeout", sqlexec.Config{Targets: map[string]sqlexec.Target{"a": {URL: nowhere, StatementTimeout: -time.Second}}}, "statement_timeout is negative"},
		{"long lock timeout", sqlexec.Config{Targets: map[string]sqlexec.Target{"a": {URL: nowhere, LockTimeout: targets.MaxTimeout + 1}}}, `database "a": lock_timeout: 596h31m23.647000001s is not accepted`},
		{"long statement timeout", sqlexec.Config{Targets: map[string]sqlexec.Target{"a": {URL: nowhere, StatementTimeout: 720 * time.Hour}}}, "statement_timeout: 720h0m0s is not accepted; accepted: at most 596h31m23.647s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.config.Deployment == "" {
				c.config.Deployment = deployment
			}
			_, err := sqlexec.New(c.config)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "geheim")
		})
	}
}

func TestDatabasesAreSorted(t *testing.T) {
	t.Parallel()
	x, err := sqlexec.New(sqlexec.Config{
		Targets:    map[string]sqlexec.Target{"b": {URL: nowhere}, "a": {URL: nowhere}, "c": {URL: nowhere}},
		Deployment: deployment,
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, x.Databases())
}
