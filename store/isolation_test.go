package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// isolate gives the sessions of a database that are still to come another isolation.
func isolate(t *testing.T, conn *pgx.Conn, level string) {
	t.Helper()
	exec(t, conn, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = %L', current_database(), '`+level+`'); END $$`)
}

// A trip that waits for a row sees what others have promoted meanwhile: under one snapshot for all of it a sequential run would
// start beside another run of its database.
func TestNoDefaultIsolationOpensAGate(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"repeatable read", "serializable"} {
		for _, pooled := range []bool{false, true} {
			url := storetest.New(t)
			conn, holder := connect(t, url), connect(t, url)
			isolate(t, conn, level)
			s, err := store.Open(t.Context(), store.Config{URL: url, Lease: time.Minute, Pooled: pooled})
			require.NoError(t, err)
			t.Cleanup(s.Close)
			addReplica(t, conn, "r")
			exec(t, conn, `
INSERT INTO rowrun.task (id, type, database_id, sequential, priority) VALUES (1, 'NOOP', 'd', false, 5), (2, 'NOOP', 'd', true, 1), (3, 'NOOP', 'd', false, 9);
INSERT INTO rowrun.task_run (id, task_id) VALUES (1, 1)`)
			round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 1})
			require.NoError(t, err)
			require.Len(t, round.Claims, 1)
			exec(t, conn, `INSERT INTO rowrun.task_run (id, task_id) VALUES (2, 2)`)
			exec(t, conn, `SELECT rowrun.promote_runs()`)

			exec(t, holder, `BEGIN; SELECT FROM rowrun.task_run WHERE id = 1 FOR NO KEY UPDATE`)
			ended := make(chan error, 1)
			go func() {
				_, err := s.Work(context.WithoutCancel(t.Context()), store.Trip{
					Replica: "r", Capabilities: noop(), LockTimeout: 10 * time.Second,
					Endings: []store.Ending{{ID: 1, Claim: round.Claims[0].Claim, Database: "d"}},
				})
				ended <- err
			}()
			require.Eventually(t, func() bool {
				return query[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))`, int32(holder.PgConn().PID()))
			}, 10*time.Second, 5*time.Millisecond)
			exec(t, conn, `INSERT INTO rowrun.task_run (id, task_id) VALUES (3, 3); SELECT rowrun.promote_runs()`)
			exec(t, holder, `COMMIT`)
			require.NoError(t, <-ended)
			require.Equal(t, []string{"DONE", "PENDING", "AVAILABLE"}, runStatuses(t, conn), "%s, pooled %t", level, pooled)
		}
	}
}

// Whatever the default, a statement of ours, one of a batch and a transaction have the level that they need, and more where they ask.
func TestNoDefaultIsolationKeepsActsFromTheirWork(t *testing.T) {
	t.Parallel()
	for _, pooled := range []bool{false, true} {
		url := storetest.New(t)
		conn := connect(t, url)
		isolate(t, conn, "serializable")
		exec(t, conn, `
INSERT INTO rowrun.plan (id) VALUES (1);
INSERT INTO rowrun.task (id, plan_id, type) VALUES (1, NULL, 'NOOP'), (2, 1, 'NOOP'), (3, 1, 'OWN');
INSERT INTO rowrun.task_run (id, task_id) SELECT id, id FROM rowrun.task`)
		s, err := store.Open(t.Context(), store.Config{URL: url, Pooled: pooled})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		_, err = s.CancelRun(t.Context(), 1, "reason")
		require.NoError(t, err)
		require.NoError(t, s.SkipTask(t.Context(), 2, "reason"))
		var level string
		require.NoError(t, s.Pool().QueryRow(t.Context(), `SELECT current_setting('transaction_isolation')`).Scan(&level))
		require.Equal(t, map[bool]string{false: "read committed", true: "serializable"}[pooled], level, "the pooler's sessions stay as they are")
		facts, err := s.ServerFacts(t.Context())
		require.NoError(t, err)
		require.Equal(t, "serializable", facts.Isolation)
	}

	// A session of the user's own is told what to do.
	conn := connect(t, storetest.New(t))
	exec(t, conn, `SET default_transaction_isolation = 'repeatable read'`)
	_, err := conn.Exec(t.Context(), `SELECT rowrun.cancel_run(1)`)
	require.Equal(t, "25000", store.SQLState(err))
	require.ErrorContains(t, err, "READ COMMITTED")
	exec(t, conn, `SET default_transaction_isolation = 'read committed'`) // the hint
	_, err = conn.Exec(t.Context(), `SELECT rowrun.cancel_run(1)`)
	require.NotEqual(t, "25000", store.SQLState(err))
}
