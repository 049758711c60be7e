package dbexec_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/dbexec"
)

// hours is a query that computes for hours.
const hours = `WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 999)
SELECT (SELECT COUNT(*) FROM s a, s b, s c, s d WHERE a.n + b.n + c.n + d.n < 0)`

// begin executes a DATABASE_MIGRATE until it ends, or is canceled.
func begin(t *testing.T, target dbexec.Target, r *record) (done <-chan error, cancel func()) {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := executor(t, target).Migrate().Execute(ctx, r.Run)
		ended <- err
	}()
	return ended, func() { end(scheduler.ErrCanceled) }
}

func TestSidecarKilledInATransactionOfMySQL(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	execute(t, db, "CREATE TABLE t (n int)")
	// It computes for hours, and doesn't look whether its client is there, as few statements do.
	const text = "INSERT INTO t VALUES (1); " + hours + " AS 'killed in a transaction'; INSERT INTO t VALUES (2)"
	kill := sidecar(t, target, text)
	eventually(t, "the statement is executed", func() bool { return executing(t, db, "killed in a transaction") })
	kill()
	require.True(t, executing(t, db, "killed in a transaction"), "the server goes on")

	r := retry(t, text, "")
	done, cancel := begin(t, target, r)
	// Its own statement is executed once the other one is gone, whose transaction held the row.
	eventually(t, "the session left behind is ended", func() bool { return len(r.of("statement")) == 1 })
	require.Contains(t, r.of("notice")[0]["message"], "of an earlier attempt is still there, and is ended")
	eventually(t, "its own statement alone is executed", func() bool {
		return value[int](t, db, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%killed in a transaction%' AND ID <> CONNECTION_ID()") == 1
	})
	cancel()
	require.Contains(t, failure(t, <-done).Detail, scheduler.ErrCanceled.Error())
	require.Equal(t, 0, value[int](t, db, "SELECT COUNT(*) FROM t"))
}

func TestSidecarKilledInDDLOfMySQL(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	const text = "CREATE TABLE a (n int); CREATE TABLE b AS SELECT BENCHMARK(15000000, SHA2('killed in DDL', 256)) AS n; INSERT INTO a VALUES (1)"
	kill := sidecar(t, target, text)
	eventually(t, "the statement is executed", func() bool { return executing(t, db, "killed in DDL") })
	kill()
	require.True(t, executing(t, db, "killed in DDL"), "the server goes on")
	require.Equal(t, []string{"3 1.10 STARTED 7 1 2"}, ledger(t, db))

	r := retry(t, text, "")
	output, err := migrate(t, target, r)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"ledger": "APPLIED", "statements": 2.0, "applied_before": 1.0, "rows_affected": 1.0}, output)
	require.Contains(t, r.of("notice")[0]["message"], "of an earlier attempt still executes")
	require.Contains(t, r.of("statement")[0]["recognized"], "ERROR 1050", "what took effect is not executed again")
	require.Equal(t, []string{"3 1.10 DONE 8 3 0"}, ledger(t, db))
	require.Equal(t, 1, value[int](t, db, "SELECT COUNT(*) FROM b"))
}

func TestCancelOfWhoWaitsForAKilledSidecarEndsItsStatement(t *testing.T) {
	t.Parallel()
	target, db := newDatabase(t)
	const text = "CREATE TABLE b AS " + hours + " AS 'killed and canceled'"
	kill := sidecar(t, target, text)
	eventually(t, "the statement is executed", func() bool { return executing(t, db, "killed and canceled") })
	kill()
	r := retry(t, text, "")
	done, cancel := begin(t, target, r)
	eventually(t, "it waits", func() bool { return len(r.of("notice")) == 1 })
	cancel()
	require.Contains(t, failure(t, <-done).Detail, "of an earlier attempt")
	eventually(t, "the statement is ended", func() bool { return !executing(t, db, "killed and canceled") })
	require.Equal(t, 0, value[int](t, db, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'b'"))
}
