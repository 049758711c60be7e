package migrations_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
)

const rolesPage = "../docs/roles.md"

// act is something that people want to do, and the statement that does it where someone may.
type act struct{ what, sql string }

// acts are tried as each role. Plan 1001 has the NOOP tasks 1001, 1002; without a plan there are 1003 (SQL) and 1004 (NOOP).
// Runs of the same numbers: 1001 and 1003 wait, 1002 is RUNNING, 1004 FAILED.
func acts() []act {
	return []act{
		{"read plans, tasks, runs, logs, replicas, `health`; ask `waiting()`", `SELECT FROM rowrun.plan, rowrun.task, rowrun.task_run, rowrun.task_run_log,
			rowrun.replica_heartbeat, rowrun.job, rowrun.failed_run, rowrun.plan_status, rowrun.task_status, rowrun.health, rowrun.waiting()`},
		{"read webhooks but for `url` and `secret_ref`, and their deliveries", "SELECT w.name, d.status FROM rowrun.webhook w, rowrun.webhook_delivery d"},
		{"read `url` and `secret_ref` of webhooks", "SELECT url, secret_ref FROM rowrun.webhook"},
		{"define a task: NOOP, HTTP, a type of your own", "SELECT rowrun.define_task('theirs', 'HTTP', '{\"path\": \"/x\"}')"},
		{"change such a task", "UPDATE rowrun.task SET priority = 7 WHERE id = 1004"},
		{"insert a run, of any task", "INSERT INTO rowrun.task_run (task_id) VALUES (1003), (1004)"},
		{"`run_task`, `run_tasks`, `enqueue_many`, `replace_run`", `SELECT rowrun.run_task('echo'), rowrun.run_tasks('{1003}'),
			rowrun.enqueue_many(1004, '[{}, {}]'::jsonb), rowrun.replace_run(1004, 'key')`},
		{"upsert by key", `INSERT INTO rowrun.task_run (task_id, idempotency_key) VALUES (1004, 'key')
			ON CONFLICT (task_id, idempotency_key) DO UPDATE SET task_id = excluded.task_id, idempotency_key = excluded.idempotency_key`},
		{"change `run_at`, `priority`, `input` of a run that waits", "UPDATE rowrun.task_run SET run_at = now() + interval '1 h', priority = 1, input = '{\"a\": 1}' WHERE id = 1001"},
		{"`cancel_run`, `retry_run`", "SELECT rowrun.cancel_run(1001), rowrun.retry_run(1004)"},
		{"make a plan, and run it", `SELECT rowrun.create_plan('theirs', '[{"name": "a", "type": "NOOP"}]'), rowrun.run_plan(1001)`},
		{"`cancel_plan`, `retry_plan`", "SELECT rowrun.cancel_plan(1001), rowrun.retry_plan(1001)"},
		{"`delete_task` (of the types above)", "SELECT rowrun.delete_task(1004)"},
		{"`report_progress`, `complete_run`, `fail_run` with the run's claim", "SELECT rowrun.report_progress(1002, gen_random_uuid(), '{}')"},
		{"define a task of type SQL, DATABASE_MIGRATE, COMMAND", `SELECT rowrun.define_task('new report', 'SQL', '{"sql": "SELECT 2"}', database_id => 'orders')`},
		{"change such a task", `UPDATE rowrun.task SET payload = '{"sql": "SELECT 2"}' WHERE id = 1003`},
		{"`delete_task` of such a task", "SELECT rowrun.delete_task(1003)"},
		{"make, change, delete a webhook", `WITH made AS (INSERT INTO rowrun.webhook (url) VALUES ('https://app.example/hook') RETURNING id)
			SELECT rowrun.delete_webhook(id) FROM made`},
		{"pause a task or a plan", "WITH t AS (UPDATE rowrun.task SET paused = true WHERE id = 1002) UPDATE rowrun.plan SET paused = true WHERE id = 1001"},
		{"change a plan's `parallel_limit`, `on_failure`", "UPDATE rowrun.plan SET parallel_limit = 2, on_failure = 'STOP' WHERE id = 1001"},
		{"`skip_task`, `unskip_task`", "SELECT rowrun.skip_task(1001), rowrun.unskip_task(1001)"},
		{"`abandon_run`", "SELECT rowrun.abandon_run(1002, 'nobody answers')"},
		{"`pause_replica`, `resume_replica`, `drain_replica`", "SELECT rowrun.pause_replica('here'), rowrun.resume_replica('here'), rowrun.drain_replica('here')"},
		{"drain or rename a type; `purge_type`", "WITH t AS (INSERT INTO rowrun.task_type (type, draining) VALUES ('OLD', true)) SELECT rowrun.purge_type('OLD')"},
		{"claim, end and remove runs; send heartbeats", `WITH h AS (INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat) VALUES ('me', now()))
			UPDATE rowrun.task_run SET status = 'DONE' WHERE id = 1002`},
		{"LOCK, UPDATE or DELETE a whole table of runs", "LOCK TABLE rowrun.task_run IN SHARE ROW EXCLUSIVE MODE"},
		{"attach triggers, change the schema", "CREATE TRIGGER t AFTER INSERT ON rowrun.task_run FOR EACH ROW EXECUTE FUNCTION rowrun.task_scheduled()"},
	}
}

// The tables of docs/roles.md are what the database says and does. UPDATE_DOCS=1 writes them.
func TestRolesPageIsTrue(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url})
	require.NoError(t, err)
	for _, sql := range []string{
		"INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease) VALUES ('here', now(), '1 hour')",
		"INSERT INTO rowrun.plan (id) VALUES (1001)",
		`INSERT INTO rowrun.task (id, plan_id, type, payload, database_id, name) VALUES (1001, 1001, 'NOOP', '{}', NULL, 'a'), (1002, 1001, 'NOOP', '{}', NULL, 'b'),
			(1003, NULL, 'SQL', '{"sql": "SELECT 1"}', 'orders', 'report'), (1004, NULL, 'NOOP', '{}', NULL, 'echo')`,
		"INSERT INTO rowrun.task_run (id, task_id) VALUES (1001, 1001), (1002, 1002), (1003, 1003), (1004, 1004)",
		"UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id IN (1002, 1004)",
		"UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'gone' WHERE id IN (1002, 1004)",
		"UPDATE rowrun.task_run SET status = 'FAILED' WHERE id = 1004",
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	roles := ourRoles(t, conn)
	page, err := os.ReadFile(rolesPage)
	require.NoError(t, err)
	want := string(page)
	for name, table := range map[string]string{
		"acts": actsTable(t, conn, roles), "rights": rightsTable(t, conn, roles), "functions": functionsTable(t, conn),
	} {
		want = between(t, want, name, table)
	}
	if os.Getenv("UPDATE_DOCS") != "" {
		require.NoError(t, os.WriteFile(rolesPage, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(page), "UPDATE_DOCS=1 go test ./migrations -run RolesPage writes it")
}

// between puts a table where the page has the marks of its name.
func between(t *testing.T, page, name, table string) string {
	t.Helper()
	head, rest, found := strings.Cut(page, "<!-- "+name+": generated -->\n")
	require.True(t, found, name)
	_, tail, found := strings.Cut(rest, "<!-- end -->")
	require.True(t, found, name)
	return head + "<!-- " + name + ": generated -->\n" + table + "<!-- end -->" + tail
}

// ourRoles are the roles that the schema is granted to, those with the fewest rights first where it says so.
func ourRoles(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	roles := texts(t, conn, `SELECT a.grantee::regrole::text FROM pg_namespace n, aclexplode(n.nspacl) a
		WHERE n.nspname = 'rowrun' AND a.grantee <> n.nspowner AND a.privilege_type = 'USAGE'
		ORDER BY array_position('{rowrun_viewer,rowrun_client,rowrun_author,rowrun_operator,rowrun_replica}', a.grantee::regrole::text), 1`)
	require.GreaterOrEqual(t, len(roles), 5)
	return roles
}

func actsTable(t *testing.T, conn *pgx.Conn, roles []string) string {
	t.Helper()
	rows := [][]string{append([]string{"to"}, words(roles)...)}
	for _, a := range acts() {
		row := []string{a.what}
		for _, role := range roles {
			row = append(row, tried(t, conn, role, a))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// tried is what becomes of an act: the role may, or it has no right to.
func tried(t *testing.T, conn *pgx.Conn, role string, a act) string {
	t.Helper()
	answer := "yes"
	undo := errors.New("undone")
	err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE "+role); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), a.sql)
		var server *pgconn.PgError
		switch {
		case errors.As(err, &server) && server.Code == "RR002": // the claim that was made up: the role may call it
		case errors.As(err, &server) && server.Code == "42501":
			answer = ""
		case err != nil:
			return fmt.Errorf("%s: %s: %w", role, a.sql, err)
		}
		return undo
	})
	require.ErrorIs(t, err, undo)
	return answer
}

// rightsTable has what is granted to each role itself.
func rightsTable(t *testing.T, conn *pgx.Conn, roles []string) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `WITH held AS (
			SELECT c.relname, c.relkind, a.grantee, a.privilege_type, NULL::text AS columns
			FROM pg_class c, aclexplode(c.relacl) a WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('r', 'p', 'v')
			UNION ALL
			SELECT c.relname, c.relkind, a.grantee, a.privilege_type, string_agg('`+"`' || t.attname || '`"+`', ', ' ORDER BY t.attnum)
			FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) a
			WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('r', 'p', 'v') GROUP BY 1, 2, 3, 4
		)
		SELECT relname::text, h.grantee::regrole::text, string_agg(privilege_type || coalesce(' of ' || columns, ''), '; '
			ORDER BY array_position('{SELECT,INSERT,UPDATE,DELETE}', privilege_type), columns NULLS FIRST)
		FROM held h JOIN pg_roles r ON r.oid = h.grantee WHERE r.rolname = ANY ($1) GROUP BY relkind, relname, h.grantee ORDER BY relkind, relname`, roles)
	require.NoError(t, err)
	table := [][]string{append([]string{"table or view"}, words(roles)...)}
	var object, role, rights string
	_, err = pgx.ForEachRow(rows, []any{&object, &role, &rights}, func() error {
		if last := table[len(table)-1]; last[0] != "`"+object+"`" {
			table = append(table, append([]string{"`" + object + "`"}, make([]string, len(roles))...))
		}
		table[len(table)-1][1+slices.Index(roles, role)] = rights
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(table), 15)
	return markdown(table)
}

// functionsTable has the functions that are for people and programs: those whose comment doesn't say that they are internal.
func functionsTable(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT DISTINCT f.proname || '(' || coalesce(array_to_string(f.proargnames[:f.pronargs], ', '), '') || ')',
			coalesce((SELECT string_agg('`+"`' || a.grantee::regrole || '`"+`', ', ' ORDER BY a.grantee::regrole::text) FROM aclexplode(f.proacl) a
				WHERE a.grantee NOT IN (0, f.proowner) AND NOT EXISTS (SELECT FROM aclexplode(f.proacl) WHERE grantee = 0)), 'everybody'),
			CASE WHEN f.prosecdef THEN 'its owner' ELSE 'its caller' END
		FROM pg_proc f
		WHERE f.pronamespace = 'rowrun'::regnamespace AND f.prorettype <> 'trigger'::regtype
			AND obj_description(f.oid, 'pg_proc') !~ '^(Internal|Trigger)' ORDER BY 1`)
	require.NoError(t, err)
	table := [][]string{{"function", "EXECUTE is granted to", "runs with the rights of"}}
	var function, who, rights string
	_, err = pgx.ForEachRow(rows, []any{&function, &who, &rights}, func() error {
		table = append(table, []string{"`" + function + "`", who, rights})
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(table), 20)
	return markdown(table)
}

// words are the roles without what all their names begin with.
func words(roles []string) []string {
	short := make([]string, len(roles))
	for i, role := range roles {
		short[i] = strings.TrimPrefix(role, "rowrun_")
	}
	return short
}

func markdown(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintln(&b, "|"+strings.Repeat(" --- |", len(row)))
		}
	}
	return b.String()
}

func texts(t *testing.T, conn *pgx.Conn, sql string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return all
}
