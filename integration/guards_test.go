package integration_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The database refuses every edge that the state machine hasn't, its owner too.
func TestEdgesThatDoNotExistAreRefused(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	statuses := []string{"PENDING", "AVAILABLE", "RUNNING", "DONE", "FAILED", "CANCELED"}
	edges := map[string]string{
		"PENDING": "AVAILABLE CANCELED", "AVAILABLE": "RUNNING CANCELED", "RUNNING": "DONE FAILED CANCELED",
	}
	// The way to each status.
	ways := map[string]string{
		"PENDING": "", "AVAILABLE": "AVAILABLE", "RUNNING": "AVAILABLE RUNNING",
		"DONE": "AVAILABLE RUNNING DONE", "FAILED": "AVAILABLE RUNNING FAILED", "CANCELED": "CANCELED",
	}
	const move = "UPDATE rowrun.task_run SET status = $2, replica_id = 'by hand' WHERE id = $1"
	task := d.task(t, "NOOP", `{}`, nil)
	for _, from := range statuses {
		for _, to := range statuses {
			id := ask[int64](t, d, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1 hour') RETURNING id`, task)
			for _, step := range strings.Fields(ways[from]) {
				d.exec(t, move, id, step)
			}
			require.Equal(t, from, d.look(t, id).Status)
			switch {
			case from == to:
			case strings.Contains(edges[from], to):
				d.exec(t, move, id, to)
				require.Equal(t, to, d.look(t, id).Status)
			default:
				d.refused(t, "RR001", move, id, to)
				_, err := d.pool.Exec(t.Context(), move, id, to)
				require.ErrorContains(t, err, from)
				require.ErrorContains(t, err, to)
				require.Equal(t, from, d.look(t, id).Status)
			}
		}
	}
}

func TestWhatUsersMayNotSayIsRefused(t *testing.T) {
	t.Parallel()
	d := seeded(t)
	client := d.as(t, "rowrun_client")
	client.refused(t, "RR003",
		"INSERT INTO rowrun.task_run (task_id, status) VALUES (1004, 'AVAILABLE')",
		"INSERT INTO rowrun.task_run (task_id, status) VALUES (1004, 'DONE')",
		`INSERT INTO rowrun.task_run (task_id, input) VALUES (1003, '{"sql": "DROP TABLE t"}')`,
		`INSERT INTO rowrun.task_run (task_id, input) VALUES (1003, '{"transaction": false}')`,
		`UPDATE rowrun.task_run SET input = '{"command": "x"}' WHERE id = 1003`,
		`SELECT rowrun.run_task('report', '{"sql": "SELECT 2"}')`,
		"UPDATE rowrun.task_run SET priority = 1 WHERE id = 1002")
	client.may(t, `INSERT INTO rowrun.task_run (task_id, status, input) VALUES (1004, 'PENDING', '{"sql": "is a word here"}')`)

	// The rest is overwritten.
	client.may(t, `INSERT INTO rowrun.task_run (task_id, type, queue, attempt, retry_of, root_id, replica_id, creator, started_at, result)
		VALUES (1004, 'COMMAND', 'other', 7, 1001, 1001, 'me', 'somebody', now(), '{"forged": true}')`)
	require.Equal(t, "NOOP default 0 t rowrun_client {}", ask[string](t, d,
		"SELECT concat_ws(' ', type, queue, attempt, retry_of, root_id = id, replica_id, creator, started_at, result) FROM rowrun.task_run ORDER BY created_at DESC LIMIT 1"))
}

func TestWhatIsFixedWhileARunIsUnfinished(t *testing.T) {
	t.Parallel()
	d := seeded(t)
	d.exec(t, "INSERT INTO rowrun.plan (id) VALUES (1005)")
	for _, change := range []string{
		"type = 'HTTP'", "queue = 'other'", "database_id = 'orders'", "database_id = 'orders', version = '2'",
		"database_id = 'orders', sequential = true", "plan_id = 1005",
	} {
		d.refused(t, "RR005", "UPDATE rowrun.task SET "+change+" WHERE id = 1001")
	}
	d.refused(t, "RR005", "UPDATE rowrun.task SET plan_id = 1005 WHERE id = 1003")
	d.exec(t, "UPDATE rowrun.task SET queue = 'other' WHERE id = 1003")
	d.exec(t, "SELECT rowrun.cancel_run(1001)")
	d.exec(t, "UPDATE rowrun.task SET type = 'HTTP' WHERE id = 1001")
}

func TestWhatIsAtWorkIsNotDeleted(t *testing.T) {
	t.Parallel()
	d := seeded(t)
	d.exec(t, "INSERT INTO rowrun.task_run (id, task_id) VALUES (1005, 1004)")
	d.exec(t, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = 1005")
	client := d.as(t, "rowrun_client")
	client.refused(t, "RR006",
		"SELECT rowrun.delete_task(1002)", "SELECT rowrun.delete_task(1004)", "SELECT rowrun.delete_plan(1001)")
	d.refused(t, "RR006", "DELETE FROM rowrun.task_run WHERE id IN (1002, 1005)")
	d.exec(t, "UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id IN (1002, 1005)")
	client.may(t, "SELECT rowrun.delete_plan(1001)", "SELECT rowrun.delete_task(1004)")
	require.Equal(t, []int64{1003}, list[int64](t, d, "SELECT id FROM rowrun.task_run ORDER BY id"), "deleting cascades")
}

// As an ORM inserts: every column is named.
func TestExplicitNullsGetTheirDefaults(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	client := d.as(t, "rowrun_client")
	client.may(t,
		`INSERT INTO rowrun.plan (id, project, name, parallel_limit, on_failure, paused, round, created_at)
			VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
		`INSERT INTO rowrun.task (id, plan_id, name, type, queue, database_id, version, sequential, payload, priority, timeout,
			progress_timeout, max_attempts, retry_delay, on_stale, paused, skipped, skip_reason, labels, created_at)
			VALUES (NULL, NULL, NULL, 'NOOP', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
		`INSERT INTO rowrun.task_run (id, task_id, attempt, retry_of, root_id, status, run_at, input, priority, idempotency_key, creator,
			plan_id, type, queue, database_id, version, replica_id, created_at, available_at, started_at, finished_at, updated_at,
			deadline, cancel_requested_at, cancel_reason, progress, progress_at, result)
			SELECT NULL, id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
			NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM rowrun.task`)
	d.exec(t, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, name, hostname, version, started_at, state, lease, queues,
		types, databases, commands, concurrency, running)
		VALUES ('r', now(), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`)

	require.Equal(t, "default  STOP_DATABASE f 1", ask[string](t, d, "SELECT concat_ws(' ', project, name, parallel_limit, on_failure, paused, round) FROM rowrun.plan"))
	require.Equal(t, "default f {} 0 1 00:00:10 FAIL f f {}", ask[string](t, d,
		"SELECT concat_ws(' ', queue, sequential, payload, priority, max_attempts, retry_delay, on_stale, paused, skipped, labels) FROM rowrun.task"))
	require.Equal(t, "0 t AVAILABLE {} 0 NOOP default {}", ask[string](t, d,
		"SELECT concat_ws(' ', attempt, root_id = id, status, input, priority, type, queue, result) FROM rowrun.task_run"))
	require.Equal(t, "ACTIVE 00:01:00 {default} {} 0", ask[string](t, d,
		"SELECT concat_ws(' ', state, lease, queues, types, running) FROM rowrun.replica_heartbeat"))
	serve(t, d.url)
	d.await(t, ask[int64](t, d, "SELECT id FROM rowrun.task_run"), "DONE")
}
