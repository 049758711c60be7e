package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A pass waits for no row that a user holds: it leaves what hangs on it, promotes the rest, and comes to it when the row is free.
func TestAPassWaitsForNoRowOfAUsers(t *testing.T) {
	t.Parallel()
	const skippedOfAPlan = `INSERT INTO rowrun.plan (id) VALUES (1); INSERT INTO rowrun.task (id, plan_id, type, skipped) VALUES (10, 1, 'NOOP', true)`
	for name, c := range map[string]struct {
		before string // what there is
		hold   string // in a transaction that stays open
		beside string // what comes beside it
		after  string // the status of the run of task 10 behind that
	}{
		"the task of a skipped run": {skippedOfAPlan, `UPDATE rowrun.task SET labels = '{"a": 1}' WHERE id = 10`, `INSERT INTO rowrun.task_run (task_id) VALUES (10)`, "CANCELED"},
		"the task of a skipped tick": {
			`INSERT INTO rowrun.task (id, type, schedule) VALUES (10, 'NOOP', '@every 1h'); SET session_replication_role = replica;
			UPDATE rowrun.task SET skipped = true WHERE id = 10; SET session_replication_role = origin`,
			`UPDATE rowrun.task SET labels = '{"a": 1}' WHERE id = 10`, `UPDATE rowrun.task_run SET run_at = now() - interval '1 s' WHERE task_id = 10`, "CANCELED",
		},
		"the bucket of a limit that is being deleted": {
			`INSERT INTO rowrun.concurrency_limit (name, queue, rate, per) VALUES ('mailer', 'mail', 10, '1 h'); INSERT INTO rowrun.task (id, type, queue) VALUES (10, 'NOOP', 'mail');
			INSERT INTO rowrun.task_run (task_id) VALUES (10); SELECT rowrun.promote_runs(); UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`,
			`SELECT rowrun.delete_limit('mailer')`, `INSERT INTO rowrun.task_run (task_id) VALUES (10)`, "AVAILABLE",
		},
		"the turns of a limit that is being deleted": {
			`INSERT INTO rowrun.concurrency_limit (name, queue, share, key_path) VALUES ('mailer', 'mail', 'FAIR', '{a}'); INSERT INTO rowrun.task (id, type, queue, payload) VALUES (10, 'NOOP', 'mail', '{"a": 1}');
			INSERT INTO rowrun.task_run (task_id) VALUES (10); SELECT rowrun.promote_runs(); UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`,
			`SELECT rowrun.delete_limit('mailer')`, `INSERT INTO rowrun.task_run (task_id) VALUES (10)`, "AVAILABLE",
		},
		"the place of an AVAILABLE run of a skipped task": {
			`INSERT INTO rowrun.concurrency_limit (name, queue, max_running) VALUES ('mailer', 'mail', 10); INSERT INTO rowrun.task (id, type, queue) VALUES (10, 'NOOP', 'mail');
			INSERT INTO rowrun.task_run (task_id) VALUES (10); SELECT rowrun.promote_runs(); SET session_replication_role = replica;
			UPDATE rowrun.task SET skipped = true WHERE id = 10; SET session_replication_role = origin`,
			`SELECT rowrun.delete_limit('mailer')`, `SELECT`, "CANCELED",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, other := connect(t, url), connect(t, url)
			addReplica(t, conn, "r")
			exec(t, conn, `UPDATE rowrun.replica_heartbeat SET queues = '{default,mail}', concurrency = 100, last_heartbeat = now() + interval '1 h'`)
			exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (2, 1); INSERT INTO rowrun.task (id, plan_id, type) VALUES (20, 2, 'NOOP')`)
			exec(t, conn, c.before)
			exec(t, other, `BEGIN`)
			exec(t, other, c.hold)
			exec(t, conn, c.beside)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (20)`)
			exec(t, conn, `SELECT rowrun.promote_runs(true)`)
			require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE task_id = 20`), "what hangs on nobody")
			const last = `SELECT status FROM rowrun.task_run WHERE task_id = 10 ORDER BY status IN ('RUNNING', 'DONE'), id LIMIT 1`
			require.NotEqual(t, c.after, query[string](t, conn, last))
			exec(t, other, `COMMIT`)
			passes(t, conn)
			require.Equal(t, c.after, query[string](t, conn, last))
		})
	}
}

// Whatever else a pass waits for too long costs no more than what has gates: the next trip goes without, so that claims, and runs without gates, go on.
func TestAPassThatWaitsTooLongIsFollowedByOneWithoutGates(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, other, s := connect(t, url), connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, name, type) VALUES (1, 'bye', 'NOOP'), (2, '', 'NOOP')`)
	exec(t, conn, `INSERT INTO rowrun.plan (id, on_finish_task) VALUES (1, 'bye'); INSERT INTO rowrun.task (id, plan_id, type) VALUES (10, 1, 'NOOP')`)
	exec(t, conn, `UPDATE rowrun.task SET skipped = true WHERE id = 10`) // completes the plan, which the next pass says
	exec(t, other, `BEGIN`)
	exec(t, other, `DELETE FROM rowrun.task WHERE id = 1`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES (2, clock_timestamp() + interval '1 ms')`)
	sweep := store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Claim: store.ClaimAny, Want: 10}
	for range 2 { // it is tried again behind the one without
		_, err := s.Work(t.Context(), sweep)
		require.Equal(t, "55P03", store.SQLState(err), "the lock has to be in the way")
		_, err = s.Work(t.Context(), sweep)
		require.NoError(t, err)
	}
	require.Equal(t, "RUNNING", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE task_id = 2`))
	require.Equal(t, 0, query[int](t, conn, `SELECT announced_round FROM rowrun.plan WHERE id = 1`))
	exec(t, other, `ROLLBACK`)
	passes(t, conn)
	require.Equal(t, 1, query[int](t, conn, `SELECT announced_round FROM rowrun.plan WHERE id = 1`))
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE task_id = 1`))
}
