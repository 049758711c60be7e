package integration_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

const forbidden = "42501"

// session is a connection that has a role.
type session struct {
	conn *pgx.Conn
	role string
}

// as opens one.
func (d *database) as(t *testing.T, role string) session {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), "SET ROLE "+role)
	require.NoError(t, err)
	return session{conn: conn, role: role}
}

// may proves that each statement is allowed.
func (s session) may(t *testing.T, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		_, err := s.conn.Exec(t.Context(), sql)
		require.NoError(t, err, "%s: %s", s.role, sql)
	}
}

// refused proves that each statement fails with this SQLSTATE.
func (s session) refused(t *testing.T, state string, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		_, err := s.conn.Exec(t.Context(), sql)
		require.Equal(t, state, sqlState(err), "%s: %s: %v", s.role, sql, err)
	}
}

// seeded has plan 1001 with the tasks 1001 and 1002 (NOOP), and without a plan 1003 (SQL) and 1004 (NOOP); each with a
// run of the same number: 1001 and 1003 PENDING, 1002 RUNNING, 1004 FAILED. There is no replica.
func seeded(t *testing.T) *database {
	t.Helper()
	d := newDatabase(t)
	d.exec(t, "INSERT INTO rowrun.plan (id) VALUES (1001)")
	d.exec(t, `INSERT INTO rowrun.task (id, plan_id, type, payload, database_id, name) VALUES (1001, 1001, 'NOOP', '{}', NULL, ''),
		(1002, 1001, 'NOOP', '{}', NULL, ''), (1003, NULL, 'SQL', '{"sql": "SELECT 1"}', 'orders', 'report'), (1004, NULL, 'NOOP', '{}', NULL, 'echo')`)
	d.exec(t, "INSERT INTO rowrun.task_run (id, task_id) VALUES (1001, 1001), (1002, 1002), (1003, 1003), (1004, 1004)")
	d.exec(t, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id IN (1002, 1004)")
	d.exec(t, "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'gone' WHERE id IN (1002, 1004)")
	d.exec(t, "UPDATE rowrun.task_run SET status = 'FAILED' WHERE id = 1004")
	return d
}

func reads() []string {
	var statements []string
	for _, table := range []string{
		"plan", "task", "task_dependency", "task_run", "task_run_log", "replica_heartbeat",
		"job", "task_status", "plan_status", "replica_status", "failed_run", "health", "waiting()",
	} {
		statements = append(statements, "SELECT * FROM rowrun."+table)
	}
	return statements
}

// internals is what nobody may who isn't the owner or a replica.
func internals() []string {
	return []string{
		"UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = 1001",
		"UPDATE rowrun.task_run SET result = '{}' WHERE id = 1004",
		"INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat) VALUES ('me', now())",
		"DELETE FROM rowrun.replica_heartbeat",
		"INSERT INTO rowrun.task_run_log (task_run_id, type) VALUES (1001, 'forged')",
		"SELECT rowrun.promote_runs(true)",
		"SELECT rowrun.end_runs('{1002}', '{NULL}', '{DONE}', '{\"{}\"}', '{NONE}')",
		"DELETE FROM rowrun.migration",
		"UPDATE rowrun.deployment SET id = gen_random_uuid()",
	}
}

func writesOfAClient() []string {
	return []string{
		"INSERT INTO rowrun.plan (name) VALUES ('theirs') RETURNING *",
		"INSERT INTO rowrun.task (type, plan_id) VALUES ('NOOP', 1001), ('HTTP', 1001), ('OWN_TYPE', 1001) RETURNING *",
		"INSERT INTO rowrun.task_dependency VALUES (1001, 1002) RETURNING *",
		"INSERT INTO rowrun.task_run (task_id) VALUES (1003), (1004) RETURNING *",
		"INSERT INTO rowrun.task_run (task_id, idempotency_key) VALUES (1004, 'once') RETURNING *",
		"INSERT INTO rowrun.task_run (task_id, idempotency_key) VALUES (1004, 'once') ON CONFLICT DO NOTHING RETURNING *",
		"INSERT INTO rowrun.task_run (task_id, idempotency_key) VALUES (1004, 'once') ON CONFLICT (task_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING",
		"INSERT INTO rowrun.task_run (task_id, idempotency_key) VALUES (1004, 'once') ON CONFLICT (task_id, idempotency_key) DO UPDATE SET priority = 7 RETURNING *",
		"UPDATE rowrun.task_run SET run_at = now() + interval '1 h', priority = 3, input = '{\"a\": 1}' WHERE id = 1001",
		"SELECT rowrun.define_task('theirs', 'HTTP', '{\"path\": \"/x\"}'), rowrun.define_task('theirs', 'HTTP', '{\"path\": \"/y\"}')",
		"SELECT rowrun.run_task('echo'), rowrun.run_task(1004, idempotency_key => 'again'), rowrun.run_task('report')",
		"SELECT rowrun.run_tasks('{1003,1004}')",
		"SELECT rowrun.retry_run(1004)",
		"SELECT rowrun.cancel_run(1001, 'no')",
		"UPDATE rowrun.task_run SET cancel_requested_at = now() WHERE id = 1003",
	}
}

func writesOfAnAuthor() []string {
	return []string{
		"INSERT INTO rowrun.task (type, database_id, payload) VALUES ('SQL', 'orders', '{\"sql\": \"SELECT 1\"}')",
		"INSERT INTO rowrun.task (type, database_id, version) VALUES ('DATABASE_MIGRATE', 'orders', '1')",
		"INSERT INTO rowrun.task (type) VALUES ('COMMAND')",
		"SELECT rowrun.define_task('theirs too', 'SQL', '{\"sql\": \"SELECT 1\"}', database_id => 'orders')",
		"UPDATE rowrun.task SET payload = '{\"sql\": \"SELECT 2\"}' WHERE id = 1003",
	}
}

func writesOfAnOperator() []string {
	return []string{
		"UPDATE rowrun.plan SET paused = true, parallel_limit = 2, on_failure = 'STOP' WHERE id = 1001",
		"UPDATE rowrun.task SET paused = true WHERE id = 1002",
		"UPDATE rowrun.task SET skipped = true, skip_reason = 'not now' WHERE id = 1001",
		"SELECT rowrun.abandon_run(1002, 'nobody answers')",
	}
}

func TestViewerReads(t *testing.T) {
	t.Parallel()
	viewer := seeded(t).as(t, "rowrun_viewer")
	viewer.may(t, reads()...)
	viewer.refused(t, forbidden, writesOfAClient()...)
	viewer.refused(t, forbidden, writesOfAnAuthor()...)
	viewer.refused(t, forbidden, writesOfAnOperator()...)
	viewer.refused(t, forbidden, internals()...)
}

func TestClientRunsWhatOthersWrote(t *testing.T) {
	t.Parallel()
	d := seeded(t)
	client := d.as(t, "rowrun_client")
	client.may(t, reads()...)
	client.refused(t, forbidden, writesOfAnAuthor()...)
	client.refused(t, forbidden, writesOfAnOperator()...)
	client.refused(t, forbidden, internals()...)
	client.refused(t, forbidden,
		"UPDATE rowrun.task SET type = 'NOOP' WHERE id = 1003",
		"UPDATE rowrun.task SET type = 'COMMAND' WHERE id = 1004",
		"UPDATE rowrun.task SET database_id = 'billing' WHERE id = 1003",
		"SELECT rowrun.define_task('echo', 'COMMAND', '{\"command\": \"x\"}')")
	client.may(t, writesOfAClient()...)
	require.Equal(t, []string{"rowrun_client"}, list[string](t, d, "SELECT DISTINCT creator FROM rowrun.task_run WHERE idempotency_key = 'once'"))
	require.Equal(t, 7, ask[int](t, d, "SELECT priority FROM rowrun.task_run WHERE idempotency_key = 'once'"))
}

func TestAuthorWritesStatements(t *testing.T) {
	t.Parallel()
	author := seeded(t).as(t, "rowrun_author")
	author.may(t, reads()...)
	author.refused(t, forbidden, writesOfAnOperator()...)
	author.refused(t, forbidden, internals()...)
	author.may(t, writesOfAClient()...)
	author.may(t, writesOfAnAuthor()...)
}

func TestOperatorSkipsPausesAndAbandons(t *testing.T) {
	t.Parallel()
	d := seeded(t)
	operator := d.as(t, "rowrun_operator")
	operator.may(t, reads()...)
	operator.refused(t, forbidden, internals()...)
	operator.may(t, writesOfAnAuthor()...)
	operator.may(t, writesOfAnOperator()...)
	require.Equal(t, "FAILED ABANDONED", d.look(t, 1002).Status+" "+d.look(t, 1002).Code)
	require.Equal(t, "CANCELED", d.look(t, 1001).Status, "a skipped task's PENDING run")
	d.as(t, "rowrun_operator").refused(t, forbidden, "UPDATE rowrun.plan SET round = 7 WHERE id = 1001")
}
