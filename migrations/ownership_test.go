package migrations_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
)

// Step 2 brings heartbeats and owners. A run that was started before there were any is failed, as nobody can vouch for it:
// that is told of it and of its plan's task. Every other row stays as it was.
func TestRunsWithoutOwnersAreFailedAndNothingElse(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	config := migrations.Config{URL: url}
	_, err := migrations.UpTo(t.Context(), config, 1)
	require.NoError(t, err)
	run(t, conn, `INSERT INTO rowrun.plan (id, name) VALUES (1, 'p');
INSERT INTO rowrun.task (id, plan_id, name, type, sequential) SELECT n, CASE WHEN n <= 6 THEN 1 END, 'task ' || n, 'NOOP', false FROM generate_series(1, 12) n;
UPDATE rowrun.task SET outcome = 'DONE', outcome_run_id = 4 WHERE id = 4;
INSERT INTO rowrun.task_run (id, task_id, root_id, plan_id, status, type, queue, priority, creator, sequential, started_at, finished_at, result)
SELECT n, n, n, CASE WHEN n <= 6 THEN 1 END, s.status, 'NOOP', 'default', 0, 'me', false,
       CASE WHEN s.status IN ('RUNNING', 'DONE', 'FAILED') THEN now() - interval '1 h' END,
       CASE WHEN s.status IN ('DONE', 'FAILED', 'CANCELED') THEN now() - interval '1 min' END,
       CASE WHEN s.status = 'RUNNING' THEN '{"kept": 1}' ELSE '{}' END::jsonb
FROM generate_series(1, 12) n
JOIN (VALUES (1, 'PENDING'), (2, 'AVAILABLE'), (3, 'RUNNING'), (4, 'DONE'), (5, 'FAILED'), (6, 'CANCELED')) s(state, status) ON s.state = (n - 1) % 6 + 1
ORDER BY n;
SELECT setval('rowrun.plan_id_seq', 1), setval('rowrun.task_id_seq', 12), setval('rowrun.task_run_id_seq', 12)`)
	const others = `SELECT array_agg(concat_ws(' ', id, status, started_at, finished_at, updated_at, result) ORDER BY id) FROM rowrun.task_run WHERE id NOT IN (3, 9)`
	const tasks = `SELECT array_agg(concat_ws(' ', id, outcome, outcome_run_id) ORDER BY id) FROM rowrun.task WHERE id <> 3`
	runsBefore, tasksBefore := ask[[]string](t, conn, others), ask[[]string](t, conn, tasks)
	require.Len(t, runsBefore, 10)

	_, err = migrations.Up(t.Context(), config) // the code comes with the newest
	require.NoError(t, err)
	require.Equal(t, runsBefore, ask[[]string](t, conn, others))
	require.Equal(t, tasksBefore, ask[[]string](t, conn, tasks))
	rows, err := conn.Query(t.Context(), `SELECT status, finished_at IS NOT NULL, finished_at = updated_at, result::text, replica_id FROM rowrun.task_run WHERE id IN (3, 9)`)
	require.NoError(t, err)
	type failed struct {
		Status           string
		Finished, Stamps bool
		Result           string
		Replica          *string
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[failed])
	require.NoError(t, err)
	want := failed{"FAILED", true, true, `{"code": "STALE", "kept": 1, "detail": "Marked as failed during heartbeat migration"}`, nil}
	require.Equal(t, []failed{want, want}, list)
	require.Equal(t, "FAILED 3", ask[string](t, conn, `SELECT concat_ws(' ', outcome, outcome_run_id) FROM rowrun.task WHERE id = 3`))
	require.Equal(t, "FAILED", ask[string](t, conn, `SELECT status FROM rowrun.plan_status WHERE plan_id = 1`))

	// And back: owners go, runs stay.
	_, err = migrations.Down(t.Context(), config, 1)
	require.NoError(t, err)
	require.Equal(t, runsBefore, ask[[]string](t, conn, others))
	require.Equal(t, 2, ask[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'FAILED' AND id IN (3, 9)`))
	_, err = migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, 12, ask[int](t, conn, `SELECT count(*) FROM rowrun.task_run`))
	run(t, conn, `SELECT rowrun.retry_run(9)`)
}
