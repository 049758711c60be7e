package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/api"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server/servertest"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// board is a server with a dashboard on a database of its own.
type board struct {
	t    *testing.T
	base string
	url  string
	conn *pgx.Conn
	api  *api.API
}

// other is another connection to the database.
func (b *board) other() *pgx.Conn { return rowruntest.Connect(b.t, b.url) }

// start serves a dashboard; alice may act, and change completes what is configured.
func start(t *testing.T, change func(*api.Config, *server.Config)) *board {
	t.Helper()
	return serve(t, storetest.New(t), change)
}

func serve(t *testing.T, url string, change func(*api.Config, *server.Config)) *board {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Config{URL: url, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(opened.Close)
	config := api.Config{Store: opened, Version: "v0", Deployment: "d", Replica: "here", Log: zerolog.New(zerolog.NewTestWriter(t)), Pages: http.NotFoundHandler(), Operators: true}
	listen := server.Config{
		Deployment: "d",
		Operators:  []auth.Operator{{Name: "alice", Token: "of-alice"}},
	}
	if change != nil {
		change(&config, &listen)
	}
	a, err := api.New(config)
	require.NoError(t, err)
	listen.Dashboard = a.Handler
	return &board{t: t, url: url, base: servertest.Serve(t, listen).URL + listen.Prefix, conn: rowruntest.Connect(t, url), api: a}
}

// sent is a request and what came back.
type sent struct {
	t      *testing.T
	Status int
	Header http.Header
	Body   string
}

// ask sends a request; body "": none. Headers are pairs.
func (b *board) ask(method, path, body string, headers ...string) sent {
	b.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, reader)
	require.NoError(b.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Client{}).Do(r) //nolint:forbidigo // a test asks this process
	require.NoError(b.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	return sent{b.t, resp.StatusCode, resp.Header, string(text)}
}

const asAlice = "Bearer of-alice"

// get reads a value as whoever shows no token.
func (b *board) get(path string) any {
	b.t.Helper()
	s := b.ask(http.MethodGet, "/api/v1/"+path, "")
	require.Equal(b.t, http.StatusOK, s.Status, path+" "+s.Body)
	return s.value()
}

// act sends one as alice.
func (b *board) act(body string) sent {
	b.t.Helper()
	return b.ask(http.MethodPost, "/api/v1/acts", body, "Authorization", asAlice)
}

// value is the body.
func (s sent) value() any {
	s.t.Helper()
	var value any
	decoder := json.NewDecoder(bytes.NewReader([]byte(s.Body)))
	decoder.UseNumber()
	require.NoError(s.t, decoder.Decode(&value), s.Body)
	return value
}

// at walks into a value: names and places.
func at(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, ok := value.(map[string]any)
			require.True(t, ok, "%v of %v", step, value)
			require.Contains(t, object, step)
			value = object[step]
		case int:
			list, ok := value.([]any)
			require.True(t, ok, "%v of %v", step, value)
			require.Greater(t, len(list), step, value)
			value = list[step]
		}
	}
	if n, ok := value.(json.Number); ok {
		return n.String()
	}
	return value
}

func change(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	rowruntest.Change(t, conn, sql, args...)
}

func query[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var value T
	require.NoError(t, conn.QueryRow(t.Context(), sql, args...).Scan(&value), sql)
	return value
}

// rollout makes a plan of two databases and two versions: 1.9 on orders FAILED, on stock DONE, 1.10 waits on both; its id.
func (b *board) rollout() (plan int64) {
	b.t.Helper()
	plan = query[int64](b.t, b.conn, `SELECT rowrun.create_plan('ship', '[
		{"name": "orders 1.9", "type": "NOOP", "database_id": "orders", "version": "1.9"}, {"name": "orders 1.10", "type": "NOOP", "database_id": "orders", "version": "1.10"},
		{"name": "stock 1.9", "type": "NOOP", "database_id": "stock", "version": "1.9"}, {"name": "stock 1.10", "type": "NOOP", "database_id": "stock", "version": "1.10", "depends_on": ["orders 1.9"]}]')`)
	change(b.t, b.conn, `SELECT rowrun.run_plan($1)`, plan)
	for task, end := range map[string]string{
		"orders 1.9": `status = 'FAILED', result = '{"code": "42P01", "detail": "relation \"a7\" of run 17 is missing"}'`, "stock 1.9": `status = 'DONE'`,
	} {
		of := ` FROM rowrun.task k WHERE k.id = r.task_id AND k.name = '` + task + `'`
		change(b.t, b.conn, `UPDATE rowrun.task_run r SET status = 'AVAILABLE'`+of)
		change(b.t, b.conn, `UPDATE rowrun.task_run r SET status = 'RUNNING', replica_id = 'x'`+of)
		change(b.t, b.conn, `UPDATE rowrun.task_run r SET `+end+of)
	}
	return plan
}
