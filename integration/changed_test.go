package integration_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// serveOrders starts a replica that has the target databases orders and billing, which are one, and the command nothing.
func serveOrders(t *testing.T, d *database, target string) {
	t.Helper()
	serve(t, d.url, configFile(t, fmt.Sprintf(
		"databases: {orders: {url: %q}, billing: {url: %q}}\ncommands: {nothing: {path: /bin/true}}", target, target)))
}

// A run's input was written for what its task was when it was inserted. Whoever changes the task meanwhile, the run isn't
// executed: neither what a client wrote as statements, nor an author's statements where they weren't meant to go.
func TestRunOfATaskThatBecameAnotherIsNotExecuted(t *testing.T) {
	t.Parallel()
	d, target := newDatabase(t), storetest.Empty(t)
	made := func(name string) bool {
		conn, err := pgx.Connect(t.Context(), target)
		require.NoError(t, err)
		defer func() { _ = conn.Close(t.Context()) }()
		var exists bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT to_regclass($1) IS NOT NULL`, "public."+name).Scan(&exists))
		return exists
	}
	job := func(kind, payload string, more columns) (task, run int64) {
		task = d.task(t, kind, payload, more)
		return task, d.run(t, task)
	}
	orders := columns{"database_id": "orders"}

	// The author makes it HTTP; from then on its payload is a client's to write.
	lent, lentRun := job("SQL", `{"sql": "SELECT 1"}`, orders)
	d.exec(t, `UPDATE rowrun.task SET type = 'HTTP', payload = '{"path": "/"}' WHERE id = $1`, lent)
	d.as(t, "rowrun_client").may(t, fmt.Sprintf(`UPDATE rowrun.task SET payload = '{"sql": "CREATE TABLE stolen ()"}' WHERE id = %d`, lent))

	// The author makes it SQL; the input names statements.
	grown := d.task(t, "NOOP", `{}`, columns{"database_id": "orders", "name": "grown"})
	grownRun := ask[int64](t, d, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"sql": "CREATE TABLE grown ()"}') RETURNING id`, grown)
	d.exec(t, `UPDATE rowrun.task SET type = 'SQL', payload = '{"sql": "CREATE TABLE authored ()"}' WHERE id = $1`, grown)

	moved, movedRun := job("SQL", `{"sql": "SELECT 1"}`, orders)
	d.exec(t, `UPDATE rowrun.task SET database_id = 'billing', payload = '{"sql": "CREATE TABLE moved ()"}' WHERE id = $1`, moved)
	newer, newerRun := job("DATABASE_MIGRATE", `{"sql": "SELECT 1"}`, columns{"database_id": "billing", "version": "1"})
	d.exec(t, `UPDATE rowrun.task SET version = '2', payload = '{"sql": "CREATE TABLE newer ()"}' WHERE id = $1`, newer)
	harmless, harmlessRun := job("COMMAND", `{"command": "nothing"}`, nil)
	d.exec(t, `UPDATE rowrun.task SET type = 'NOOP', payload = '{}' WHERE id = $1`, harmless)
	// A type that was renamed says so.
	d.exec(t, `INSERT INTO rowrun.task_type (type, alias_of) VALUES ('old.name', 'NOOP')`)
	renamed, renamedRun := job("old.name", `{}`, nil)
	d.exec(t, `UPDATE rowrun.task SET type = 'NOOP' WHERE id = $1`, renamed)
	same := d.job(t, "SQL", `{"sql": "CREATE TABLE same ()"}`, orders)

	serveOrders(t, d, target)
	for run, detail := range map[int64]string{
		lentRun:     "task type changed from SQL to HTTP after the run was inserted: insert it again",
		grownRun:    "task type changed from NOOP to SQL after the run was inserted: insert it again",
		movedRun:    "the task's database_id changed from orders to billing after the run was inserted: insert it again",
		newerRun:    "the task's version changed from 1 to 2 after the run was inserted: insert it again",
		harmlessRun: "task type changed from COMMAND to NOOP after the run was inserted: insert it again",
	} {
		r := d.await(t, run, "FAILED")
		require.Equal(t, "BAD_INPUT: "+detail, r.Code+": "+r.Detail)
	}
	d.await(t, renamedRun, "DONE")
	d.await(t, same, "DONE")
	require.True(t, made("same"))
	for _, name := range []string{"stolen", "grown", "authored", "moved", "newer"} {
		require.False(t, made(name), name)
	}
	d.refused(t, "RR003", `SELECT rowrun.retry_run($1)`, grownRun)
	require.Nil(t, d.look(t, grownRun).RetryRunID)
	d.exec(t, `SELECT rowrun.retry_run($1)`, movedRun)
	eventually(t, patience, "the retry, where the task is now", func() bool { return made("moved") })
}

// No successor is made of a run whose input wasn't written for the statements that its task has by now, and its end is
// recorded all the same, with those of others.
func TestRunThatFailsAfterItsTaskBecameSQLHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	serveOrders(t, d, storetest.Empty(t))
	task := d.task(t, "NOOP", `{"sleep": "4s", "fail": "not today"}`, columns{"database_id": "orders", "max_attempts": 5, "retry_delay": "0 s"})
	first := ask[int64](t, d, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"sql": "SELECT 1"}') RETURNING id`, task)
	d.await(t, first, "RUNNING")
	other := d.job(t, "NOOP", `{"sleep": "1s", "fail": "me too"}`, columns{"max_attempts": 2, "retry_delay": "0 s"})
	d.exec(t, `UPDATE rowrun.task SET type = 'SQL', payload = '{"sql": "SELECT 1"}' WHERE id = $1`, task)
	r := d.await(t, first, "FAILED")
	require.Equal(t, "ERROR: not today", r.Code+": "+r.Detail)
	require.Nil(t, r.RetryRunID)
	require.NotNil(t, d.await(t, other, "FAILED").RetryRunID)
	d.await(t, d.job(t, "NOOP", `{}`, nil), "DONE")
}
