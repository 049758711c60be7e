package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func open(t *testing.T, url string, lease time.Duration) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url, Lease: lease})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func noop() store.Capabilities {
	return store.Capabilities{Queues: []string{"default"}, Types: []string{"NOOP"}}
}

// stopPromoter leaves a promotion in mid-transaction: everything it locked stays locked until the session ends.
func stopPromoter(t *testing.T, conn *pgx.Conn, promoted int) {
	t.Helper()
	exec(t, conn, `BEGIN`)
	require.Equal(t, promoted, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`))
}

// fillGated makes a plan of n tasks on databases, and n without one, each with a PENDING run.
func fillGated(t *testing.T, conn *pgx.Conn, n int) {
	t.Helper()
	plan := query[int64](t, conn, `INSERT INTO rowrun.plan (parallel_limit) VALUES (1000) RETURNING id`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, type, database_id, version, sequential)
		SELECT $1, 'NOOP', 'db' || n, '1', true FROM generate_series(1, $2::int) n`, plan, n)
	exec(t, conn, `INSERT INTO rowrun.task (type) SELECT 'NOOP' FROM generate_series(1, $1::int)`, n)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, idempotency_key) SELECT id, 'key' FROM rowrun.task`)
}

// Writers with fresh keys neither wait nor fail while a promoter is stopped in the middle.
func TestInsertsNeverWaitForAPromoter(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	addReplica(t, conn, "r")
	fillGated(t, conn, 20)
	stopped := connect(t, url)
	stopPromoter(t, stopped, 20)

	var wg sync.WaitGroup
	failed := make([]error, 20)
	for w := range failed {
		wg.Go(func() { failed[w] = insertMany(t.Context(), url, w, storetest.Count(30, 500)) })
	}
	wg.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
	exec(t, stopped, `ROLLBACK`)
}

func insertMany(ctx context.Context, url string, writer, n int) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, `SET lock_timeout = '2s'`); err != nil {
		return err
	}
	for i := range n {
		key := fmt.Sprintf("w%d-%d", writer, i)
		for _, sql := range []string{
			`INSERT INTO rowrun.task_run (task_id, idempotency_key) SELECT id, $1 FROM rowrun.task WHERE plan_id IS NULL`,
			`WITH p AS (INSERT INTO rowrun.plan (name) VALUES ($1) RETURNING id)
			 INSERT INTO rowrun.task (plan_id, name, type, database_id, version) SELECT id, $1, 'NOOP', 'db1', '0.1' FROM p`,
			`INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE name = $1`,
		} {
			if _, err := conn.Exec(ctx, sql, key); err != nil {
				return fmt.Errorf("insert %s: %w", key, err)
			}
		}
	}
	return nil
}

// With a key that stands in a row being changed an insert waits for that transaction, and the session of a stopped
// sidecar ends within its timeout.
func TestInsertWithTakenKeyWaitsNoLongerThanTheSession(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	addReplica(t, conn, "r")
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, idempotency_key, run_at) VALUES ($1, 'key', clock_timestamp() + interval '100 ms')`, task)
	exec(t, conn, `SELECT pg_sleep(0.15)`)

	const lease = 3 * time.Second
	sidecar, err := open(t, url, lease).Pool().Acquire(t.Context())
	require.NoError(t, err)
	stopped := sidecar.Hijack()
	stopPromoter(t, stopped, 1)

	exec(t, conn, fmt.Sprintf(`SET lock_timeout = '%dms'`, lease.Milliseconds()/3+500)) // and some for a busy machine
	_, err = conn.Exec(t.Context(), `INSERT INTO rowrun.task_run (task_id, idempotency_key) VALUES ($1, 'key')`, task)
	require.Equal(t, "23505", store.SQLState(err), "%v", err)
	require.Error(t, stopped.Ping(t.Context()), "the stopped session lives")
	require.NoError(t, stopped.Close(t.Context()))
}
