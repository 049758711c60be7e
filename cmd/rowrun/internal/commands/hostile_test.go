package commands

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Escapes, controls of direction, both ends of the alphabets: what a name may hold and a terminal must not be given.
const oddText = "\x1b[2J\x1b]0;title\a 名前 имя שם اسم नाम 🚚 \u202e\u2066\u200b\u0085\u009b31m \u2028 %s%n '\"\\ \t\r\n <b>&amp;"

// oddValues are SQL expressions by type: the ends, what lies beyond the usual, what other programs can't read.
func oddValues() map[string][]string {
	text := []string{"NULL", "''", "$odd$" + oddText + "$odd$", "repeat('x', 1048576)", `'{"nested": 1}'`}
	moment := []string{"NULL", "'infinity'", "'-infinity'", "'9999-12-31 23:59:59+00'", "'294276-12-31 00:00+00'", "'4713-01-01 00:00+00 BC'", "'0001-01-01 00:00+00'"}
	return map[string][]string{
		"bigint":                   {"NULL", "-9223372036854775808", "-1", "0", "9223372036854775807"},
		"integer":                  {"NULL", "-2147483648", "-1", "0", "2147483647"},
		"smallint":                 {"NULL", "-32768", "0", "32767"},
		"boolean":                  {"NULL", "true", "false"},
		"uuid":                     {"NULL", "'00000000-0000-0000-0000-000000000000'"},
		"pg_lsn":                   {"NULL", "'0/0'", "'FFFFFFFF/FFFFFFFF'"},
		"pg_snapshot":              {"NULL", "'1:1:'", "'1:9223372036854775806:5'"},
		"numeric":                  {"NULL", "'NaN'", "'1e1000'", "-1"},
		"double precision":         {"NULL", "'NaN'", "'infinity'", "-1"},
		"bytea":                    {"NULL", "''", `'\xff00'`},
		"bigint[]":                 {"NULL", "'{}'", "'{NULL,-1,9223372036854775807}'"},
		"integer[]":                {"NULL", "'{}'", "'{50,1}'", "'{NULL,-1,2147483647}'", "'{50}'", "'{{50,1},{60,2}}'"},
		"text":                     text,
		"text[]":                   {"NULL", "'{}'", "'{NULL}'", "ARRAY[$odd$" + oddText + "$odd$, '']", "ARRAY[repeat('x', 1048576)]"},
		"timestamp with time zone": moment,
		"interval":                 {"NULL", "'178000000 years'", "'-178000000 years'", "'0'", "'1 us'", "'99 years'", "'2147483647 days'", "'1000000 years -359999999 days'", "'-4 years 1461 days'"},
		"jsonb": {
			"NULL", "'null'", "'[]'", `'{"sleep": 1e100000, "path": {"a": []}, "traceparent": 5}'`, `'{"a": "\u0000"}'`, `'{"a": "\ud800"}'`,
			"jsonb_build_object('a', (repeat('[', 5000) || repeat(']', 5000))::jsonb)", "('{\"a\":' || repeat('[', 20000) || repeat(']', 20000) || '}')::jsonb",
			"jsonb_build_object('a', (repeat('[', 990) || repeat(']', 990))::jsonb)",
			"jsonb_build_object($odd$" + oddText + "$odd$, repeat($odd$" + oddText + "$odd$, 5000), 'detail', $odd$" + oddText + "$odd$, 'code', repeat('c', 100000))",
			`'{"code": {"a": 1}, "detail": [1], "state": {"sql": "SELECT 1"}, "failed_run": null}'`,
			"jsonb_build_object('traceparent', repeat('0', 1000000), 'fail', repeat('\u202e', 1000))",
			"('{\"a\": [' || rtrim(repeat('1e131071,', 120), ',') || ']}')::jsonb",
		},
	}
}

// writeable is a column that a role may give a value.
type writeable struct {
	table, column, kind string
	insert, update      bool
}

// hostile writes odd values.
type hostile struct {
	conn    *pgx.Conn
	random  *rand.Rand
	n       int
	refused map[string]int               // by SQLSTATE
	base    map[string]map[string]string // by table: what a row needs, with $n
	keys    map[string]string            // by table: its key
}

// columnsOf lists what a role may write, from the catalog: a new column is among them by itself.
func (h *hostile) columnsOf(t *testing.T, role string) []writeable {
	t.Helper()
	rows, err := h.conn.Query(t.Context(), `
SELECT c.relname, a.attname, format_type(a.atttypid, NULL), has_column_privilege($1, c.oid, a.attnum, 'INSERT'), has_column_privilege($1, c.oid, a.attnum, 'UPDATE')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
  AND (has_column_privilege($1, c.oid, a.attnum, 'INSERT') OR has_column_privilege($1, c.oid, a.attnum, 'UPDATE'))
ORDER BY c.relname, a.attnum`, role)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (writeable, error) {
		var w writeable
		return w, row.Scan(&w.table, &w.column, &w.kind, &w.insert, &w.update)
	})
	require.NoError(t, err)
	return all
}

// as runs one statement with a role. The database may refuse anything, as long as it says so and lives on.
func (h *hostile) as(t *testing.T, role, sql string) {
	t.Helper()
	rows, err := h.conn.Query(t.Context(), "SET ROLE "+role+"; "+sql+"; RESET ROLE", pgx.QueryExecModeSimpleProtocol)
	if err == nil {
		rows.Close()
		err = rows.Err()
	}
	if err != nil {
		code := store.SQLState(err)
		require.Len(t, code, 5, "%s: %s: %v", role, cutSQL(sql), err)
		require.NotContains(t, []string{"XX", "57", "58", "08"}, code[:2], "%s: %s: %v", role, cutSQL(sql), err)
		h.refused[code]++
		_, err = h.conn.Exec(t.Context(), "RESET ROLE")
		require.NoError(t, err)
	}
}

func cutSQL(sql string) string { return sql[:min(len(sql), 300)] }

// insertSQL is an INSERT of what a row needs, with one column given.
func (h *hostile) insertSQL(table, column, value string) string {
	h.n++
	names, values := []string{}, []string{}
	for name, expression := range h.base[table] {
		if name != column {
			names, values = append(names, name), append(values, strings.ReplaceAll(expression, "$n", strconv.Itoa(h.n)))
		}
	}
	if column != "" {
		names, values = append(names, column), append(values, value)
	}
	return "INSERT INTO rowrun." + table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// victims makes rows to change, each as text of a condition.
func (h *hostile) victims(t *testing.T, table string) []string {
	t.Helper()
	key, known := h.keys[table]
	if !known {
		return []string{"true"} // what there is
	}
	one := func(sql string) string {
		var id string
		require.NoError(t, h.conn.QueryRow(t.Context(), sql+" RETURNING "+key+"::text").Scan(&id), sql)
		return key + " = '" + id + "'"
	}
	if table != "task_run" {
		return []string{one(h.insertSQL(table, "", ""))}
	}
	pending := one(h.insertSQL(table, "run_at", "now() + interval '1 day'"))
	running := one(h.insertSQL(table, "task_id", "(SELECT id FROM rowrun.task WHERE name = 'nobody runs it')"))
	available := one(h.insertSQL(table, "task_id", "(SELECT id FROM rowrun.task WHERE name = 'nobody runs it')"))
	rowruntest.Change(t, h.conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE status = 'PENDING' AND `+running)
	rowruntest.Change(t, h.conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'odd and alive' WHERE `+running)
	return []string{pending, running, available}
}

// writeAll writes odd values into every column that a role may write: one of four, and each of them in a soak.
func (h *hostile) writeAll(t *testing.T, role string) {
	t.Helper()
	values := oddValues()
	for _, w := range h.columnsOf(t, role) {
		require.Contains(t, values, w.kind, "%s.%s: give its type some odd values", w.table, w.column)
		for _, value := range values[w.kind] {
			if h.random.IntN(4) >= storetest.Count(1, 4) {
				continue
			}
			if w.insert {
				h.as(t, role, h.insertSQL(w.table, w.column, value))
			}
			if w.update {
				for _, victim := range h.victims(t, w.table) {
					h.as(t, role, "UPDATE rowrun."+w.table+" SET "+w.column+" = "+value+" WHERE "+victim)
				}
			}
		}
	}
}

// shown asserts that a command printed something, no more than a person can do with, and nothing that steers a terminal.
func shown(t *testing.T, what string, got rowruntest.Outcome, codes ...int) {
	t.Helper()
	require.Contains(t, codes, got.Code, "%s: %s", what, cutSQL(got.Stderr))
	require.NotEmpty(t, got.Stdout+got.Stderr, what) // where there is nothing, a word says so on stderr
	if !strings.HasSuffix(what, "json") || strings.HasPrefix(what, "doctor") {
		require.Less(t, len(got.Stdout), 2<<20, "%s: more than anybody reads", what)
	}
	at := strings.IndexFunc(got.Stdout, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
	require.Equal(t, -1, at, "%s prints %q", what, got.Stdout[max(at, 0):min(max(at, 0)+40, len(got.Stdout))])
}

// Whatever the roles may write: replicas live, the runs of others end, and every command and endpoint prints.
func TestHostileRowsHarmNobodyElse(t *testing.T) {
	t.Parallel()
	url, target := storetest.New(t), storetest.Empty(t)
	conn := rowruntest.Connect(t, url)
	variables := map[string]string{"DATABASE_URL": url}
	random := rand.New(rand.NewPCG(uint64(storetest.Seed(t)), 0)) //nolint:gosec // not a secret
	h := &hostile{conn: conn, random: random, refused: map[string]int{}, base: map[string]map[string]string{
		"plan":                 {"name": "'odd $n'"},
		"task":                 {"type": "'NOOP'", "name": "'odd $n'"},
		"task_run":             {"task_id": "(SELECT id FROM rowrun.task WHERE name = 'odd')"},
		"task_dependency":      {"task_id": "(SELECT max(id) FROM rowrun.task WHERE plan_id > 0)", "depends_on_id": "(SELECT min(id) FROM rowrun.task WHERE plan_id > 0)"},
		"task_run_log":         {"task_run_id": "(SELECT min(id) FROM rowrun.task_run)", "type": "'odd'"},
		"task_type":            {"type": "'odd $n'"},
		"replica_heartbeat":    {"replica_id": "'odd $n'", "last_heartbeat": "now()"},
		"webhook":              {"url": "'http://127.0.0.1:9/'", "project": "'odd'"},
		"webhook_delivery":     {"webhook_id": "(SELECT min(id) FROM rowrun.webhook)", "plan_id": "$n", "round": "1", "event_type": "'PIPELINE_FAILED'", "message_id": "'m$n'", "payload": "'{}'"},
		"webhook_delivery_log": {"plan_id": "(SELECT min(id) FROM rowrun.plan)", "event_type": "'PIPELINE_FAILED'", "round": "1"},
		"stream_note":          {"event": "'odd'", "message": "'odd'"},
		"orphan_type":          {"type": "'odd $n'", "pending": "0", "available": "0"},
		"gate_mark":            {"kind": "'NO_REPLICA'"},
		"recovery":             {"last_seen": "now()", "backlog": "5", "remaining": "5"},
	}, keys: map[string]string{
		"plan": "id", "task": "id", "task_run": "id", "task_run_log": "id", "task_type": "type", "webhook": "id", "webhook_delivery": "id",
		"stream_note": "id", "orphan_type": "type", "gate_mark": "id", "replica_heartbeat": "replica_id",
	}}
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (type, name, queue) VALUES ('NOOP', 'odd', 'default'), ('NOOP', 'nobody runs it', 'nobody''s');
INSERT INTO rowrun.plan (name) VALUES ('odd');
INSERT INTO rowrun.task (type, plan_id) SELECT 'NOOP', id FROM rowrun.plan, generate_series(1, 3);
INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE name = 'odd';
INSERT INTO rowrun.webhook (url, project, enabled) VALUES ('http://127.0.0.1:9/', 'odd', true);
INSERT INTO rowrun.concurrency_limit (name, key_path, max_running, share) VALUES ('of keys', '{a}', 1000, 'FAIR'), ('of all', NULL, 1000000, 'NONE');
INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease) VALUES ('odd and alive', now(), '1 day')`)

	app := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(app.Close)
	file := filepath.Join(t.TempDir(), "rowrun.yaml")
	require.NoError(t, os.WriteFile(file, []byte(fmt.Sprintf("databases: {orders: {url: %q}}\ncommands: {nothing: {path: /bin/true}}", target)), 0o600))
	flags := []string{"--sweep-interval", "500ms", "--stale-sweep-interval", "1s", "--cleanup-interval", "1s", "--app-url", app.URL, "--config", file}
	replicas := []*serving{startServing(t, url, flags...), startServing(t, url, flags...)}
	alive := func() (ids []string) {
		rows, err := conn.Query(t.Context(), `SELECT replica_id FROM rowrun.replica_heartbeat WHERE state = 'ACTIVE' AND concurrency = 20 AND name NOT LIKE 'odd%' ORDER BY 1`)
		require.NoError(t, err)
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return ids
	}
	for _, r := range replicas {
		r.awaitReady(t)
	}
	before := alive()
	require.Len(t, before, 2)

	orders := "orders"
	var others []int64
	work := func() {
		others = append(others, insertRun(t, conn, "NOOP", `{}`, nil), insertRun(t, conn, "SQL", `{"sql": "SELECT 1"}`, &orders),
			insertRun(t, conn, "HTTP", `{"path": "/"}`, nil), insertRun(t, conn, "COMMAND", `{"command": "nothing"}`, nil),
			insertRun(t, conn, "NOOP", `{"sleep": "1ms"}`, &orders))
		var plan int64
		require.NoError(t, conn.QueryRow(t.Context(), `INSERT INTO rowrun.plan (name, parallel_limit) VALUES ('theirs', 1) RETURNING id`).Scan(&plan))
		rowruntest.Change(t, conn, `INSERT INTO rowrun.task (type, plan_id, database_id, version, payload)
SELECT CASE i WHEN 1 THEN 'DATABASE_MIGRATE' ELSE 'NOOP' END, $1, 'orders', i::text, '{"sql": "SELECT 1"}' FROM generate_series(1, 3) i`, plan)
		rows, err := conn.Query(t.Context(), `SELECT rowrun.run_plan($1)`, plan)
		require.NoError(t, err)
		runs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		require.NoError(t, err)
		others = append(others, runs...)
	}
	work()
	rows, err := conn.Query(t.Context(), `SELECT rolname::text FROM pg_roles WHERE rolname LIKE 'rowrun\_%' ORDER BY 1`)
	require.NoError(t, err)
	roles, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(roles), 5)
	for _, role := range roles {
		began, n := time.Now(), h.n
		h.writeAll(t, role)
		t.Logf("%s: %d rows in %s", role, h.n-n, time.Since(began).Round(time.Millisecond))
		work()
	}
	t.Logf("refused: %v", h.refused)
	// What the owner of the tables may still write.
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (id, task_id) SELECT i, k.id FROM rowrun.task k, generate_series(-4, -1) i WHERE k.name = 'odd' ON CONFLICT DO NOTHING`)
	rowruntest.Change(t, conn, `SET session_replication_role = replica;
UPDATE rowrun.task_run SET created_at = '-infinity', available_at = 'infinity', started_at = '4713-01-01 BC', finished_at = 'infinity', deadline = 'infinity',
    cancel_requested_at = 'infinity', run_at = '-infinity', updated_at = '294276-01-01', progress_at = 'infinity'
WHERE id = (SELECT max(id) FROM rowrun.task_run WHERE status = 'DONE' AND plan_id IS NULL AND id <> ALL ('{`+joined(others)+`}'));
RESET session_replication_role`)
	work()

	rowruntest.Eventually(t, "the runs of others end", func() bool {
		var open int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM rowrun.task_run WHERE id = ANY ($1) AND status <> 'DONE'`, others).Scan(&open))
		return open == 0
	})
	rowruntest.Eventually(t, "runs with odd ids end", func() bool {
		var open int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM rowrun.task_run WHERE id BETWEEN -4 AND 0 AND status NOT IN ('DONE', 'FAILED', 'CANCELED')`).Scan(&open))
		return open == 0
	})
	require.Equal(t, before, alive(), "no replica has ended or fenced itself")
	for _, r := range replicas {
		for _, path := range []string{"/livez", "/readyz", "/metrics", "/status"} {
			code, body := r.status(t, path)
			require.Equal(t, http.StatusOK, code, "%s: %s", path, body)
			require.NotEmpty(t, body, path)
		}
		require.Equal(t, http.StatusOK, r.opens(t, "/events"))
	}
	h.commands(t, variables)
	var told streamed
	stop, _ := start(t, url, &told, "stream", "--since", "10m")
	rowruntest.Eventually(t, "the stream tells of others", func() bool {
		return strings.HasSuffix(told.events(t, others[len(others)-1]), "done")
	})
	stop()
	require.Equal(t, before, alive())
}

// opens asks for an answer that has no end.
func (s *serving) opens(t *testing.T, path string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

func joined(ids []int64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = asText(id)
	}
	return strings.Join(texts, ",")
}

// commands runs every command that reads, over every row.
func (h *hostile) commands(t *testing.T, variables map[string]string) {
	t.Helper()
	ids := func(sql string) []string {
		rows, err := h.conn.Query(t.Context(), sql)
		require.NoError(t, err)
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return all
	}
	var lines [][]string
	for _, list := range []string{
		"run list --limit 10000", "run list --failed", "plan list --limit 10000", "task list --limit 10000", "schedule list", "schedule next 100", "webhook list",
		"webhook deliveries --limit 10000", "type list", "replica list", "status", "doctor",
	} {
		lines = append(lines, strings.Fields(list))
	}
	// Of rows that hold the same but for their key one is enough.
	for _, id := range ids(`SELECT id::text FROM (SELECT DISTINCT ON (md5((to_jsonb(r) - '{id,root_id,created_at,updated_at,available_at,started_at,finished_at,run_at,judge_at,task_id}'::text[] || jsonb_build_object(
			'odd', r.run_at NOT BETWEEN now() - interval '1 h' AND now() + interval '2 days'))::text)) r.id FROM rowrun.task_run r WHERE r.id <> 0) x ORDER BY id LIMIT 90`) {
		lines = append(lines, []string{"run", "show", "--", id}, []string{"run", "why", "--", id})
	}
	for _, id := range ids(`SELECT id::text FROM rowrun.task_run WHERE id <> 0 AND status IN ('DONE', 'FAILED', 'CANCELED') ORDER BY id LIMIT 5`) {
		lines = append(lines, []string{"run", "wait", "--", id})
	}
	for _, id := range ids(`SELECT id::text FROM rowrun.plan ORDER BY random() LIMIT 20`) {
		lines = append(lines, []string{"plan", "show", "--", id})
	}
	for _, id := range ids(`SELECT id::text FROM rowrun.task ORDER BY random() LIMIT 40`) {
		lines = append(lines, []string{"task", "show", "--", id})
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i, line := range lines {
		formats := []string{"table", "json"}
		if slices.Contains(line, "--") {
			formats = formats[i/2%2:][:1] // rows alternate
		}
		for _, format := range formats {
			all.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				got := rowrun(ctx, t, variables, slices.Concat(line[:min(2, len(line))], []string{"-o", format}, line[min(2, len(line)):])...)
				codes := []int{cli.ExitDone}
				if line[0] == "doctor" || slices.Contains(line, "wait") {
					codes = append(codes, cli.ExitFailed)
				}
				shown(t, strings.Join(line, " ")+" -o "+format, got, codes...)
			})
		}
	}
	all.Wait()
}
