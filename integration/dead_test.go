package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

const (
	detailStale       = "Task run abandoned: owning replica stopped responding"
	detailLostContact = "Task run abandoned: its replica lost contact with the database"
	detailDrained     = "Task run stopped: replica shut down"
)

func TestKilledReplicaGivesItsDatabaseFree(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	doomed := serve(t, d.url, quickLease(), rareSweeps(), w.app())
	order := columns{"database_id": "orders", "sequential": true}
	first := d.job(t, "HTTP", `{"path": "/wait"}`, order)
	w.await(t, first)
	heir := serve(t, d.url, quickLease(), rareSweeps(), w.app())
	second := d.job(t, "HTTP", `{"path": "/ok"}`, order)

	doomed.kill(t)
	killed := d.now(t)
	lost := d.await(t, first, "FAILED")
	require.Equal(t, "STALE", lost.Code)
	require.Equal(t, detailStale, lost.Detail)
	require.Nil(t, lost.RetryRunID)
	next := d.await(t, second, "DONE")
	require.False(t, next.StartedAt.Before(*lost.FinishedAt), "two sequential runs at once")
	require.Equal(t, heir.id(t), *next.ReplicaID)
	require.Len(t, w.of(second), 1)
	heir.log.await(t, 1, logStale)
	t.Logf("kill to STALE: %s; STALE to the start of the next sequential run: %s",
		lost.FinishedAt.Sub(killed), next.StartedAt.Sub(*lost.FinishedAt))
}

func TestKilledReplicasRunIsTakenOver(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	doomed := serve(t, d.url, quickLease(), rareSweeps(), w.app())
	first := d.job(t, "HTTP", `{"path": "/wait"}`, columns{"on_stale": "RETRY"})
	before := w.await(t, first)
	heir := serve(t, d.url, quickLease(), rareSweeps(), w.app())

	doomed.kill(t)
	lost := d.await(t, first, "FAILED")
	require.Equal(t, "STALE", lost.Code)
	require.NotNil(t, lost.RetryRunID)
	again := w.await(t, *lost.RetryRunID)
	require.Equal(t, 1, again.attempt)
	require.Equal(t, before.key, again.key, "one idempotency key for the whole chain")
	require.NotEqual(t, before.claim, again.claim)
	again.answer()
	successor := d.await(t, *lost.RetryRunID, "DONE")
	require.Equal(t, heir.id(t), *successor.ReplicaID)
	require.Equal(t, first, *successor.RetryOf)
}

// giveTo hands a run to a replica by hand, in one transaction, so that no other one gets in between.
func (d *database) giveTo(t *testing.T, task int64, replica string) int64 {
	t.Helper()
	ctx := t.Context()
	tx, err := d.pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	var id int64
	require.NoError(t, tx.QueryRow(ctx, "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", task).Scan(&id))
	_, err = tx.Exec(ctx, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1", id)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = $2 WHERE id = $1", id, replica)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))
	return id
}

func TestAtMostFiveRecoveriesInARow(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	serve(t, d.url, quickLease())
	task := d.task(t, "NOOP", `{}`, columns{"on_stale": "RETRY", "queue": "nobody serves it"})
	id := d.giveTo(t, task, "never there")
	for attempt := range 5 {
		lost := d.await(t, id, "FAILED")
		require.Equal(t, "STALE", lost.Code)
		require.Equal(t, attempt, lost.Attempt)
		require.NotNil(t, lost.RetryRunID, "successor of attempt %d", attempt)
		id = *lost.RetryRunID
		d.await(t, id, "AVAILABLE")
		d.exec(t, "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'never there' WHERE id = $1", id)
	}
	last := d.await(t, id, "FAILED")
	require.Equal(t, 5, last.Attempt)
	require.Nil(t, last.RetryRunID)
	require.Equal(t, id, ask[int64](t, d, "SELECT run_id FROM rowrun.failed_run"))
}

// In a soak with the flags' defaults, as docs/try-it.md does it.
func TestRunOfAReplicaThatDoesNotExistIsFailed(t *testing.T) {
	t.Parallel()
	var flags []string
	within := 35 * time.Second
	if !storetest.Soak() {
		flags, within = []string{"--stale-sweep-interval", "3s"}, 20*time.Second
	}
	d := newDatabase(t)
	serve(t, d.url, flags)
	id := d.giveTo(t, d.task(t, "NOOP", `{}`, nil), "never there")
	lost := d.await(t, id, "FAILED")
	took := lost.FinishedAt.Sub(*lost.StartedAt)
	t.Logf("failed after %s", took)
	require.Less(t, took, within)
	require.Equal(t, "STALE", lost.Code)
	require.Equal(t, detailStale, lost.Detail)
}

// A process that stands still in the middle of a claim, its answer half read, keeps its transaction open, with the lock of the gates and of its own
// row: the others end its session once its lease is over. Over TCP the server may notice by itself.
func TestAReplicaThatStandsStillInAClaimHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.exec(t, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, concurrency) VALUES ('gone', clock_timestamp(), '2 s', '{NOOP}', 1)`)
	lost := d.gone(t, d.task(t, "NOOP", `{}`, columns{"on_stale": "RETRY"}))
	frozen, err := pgx.Connect(t.Context(), d.url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = frozen.Close(context.WithoutCancel(t.Context())) })
	front := frozen.PgConn().Frontend()
	front.SendQuery(&pgproto3.Query{String: `BEGIN; SELECT FROM rowrun.promotion_lock FOR UPDATE; SELECT FROM rowrun.replica_heartbeat FOR KEY SHARE; SELECT repeat('x', 100000000)`})
	require.NoError(t, front.Flush())
	eventually(t, patience, "the fault: an answer that nobody takes", func() bool {
		return ask[bool](t, d, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'ClientWrite')`, int64(frozen.PgConn().PID()))
	})

	serve(t, d.url, quickLease())
	plan := d.plan(t, `{}`)
	gated := ask[int64](t, d, `SELECT rowrun.run_plan($1)`, plan)
	d.await(t, gated, "DONE")
	d.await(t, lost, "FAILED")
	d.await(t, ask[int64](t, d, `SELECT retry_run_id FROM rowrun.task_run WHERE id = $1`, lost), "DONE")
}
