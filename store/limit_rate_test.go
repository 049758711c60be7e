package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// stopBefore has whoever gives a run this status wait for the advisory lock 7, which conn holds from now on; what it returns waits until somebody does.
func stopBefore(t *testing.T, conn *pgx.Conn, status string) (stopped func()) {
	t.Helper()
	exec(t, conn, `CREATE FUNCTION public.waits() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS 'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END'`)
	exec(t, conn, `CREATE TRIGGER waits BEFORE UPDATE ON rowrun.task_run FOR EACH ROW WHEN (NEW.status = '`+status+`') EXECUTE FUNCTION public.waits()`)
	exec(t, conn, `SELECT pg_advisory_lock(7)`)
	return func() {
		t.Helper()
		require.Eventually(t, func() bool {
			return query[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
				WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.objid = 7 AND NOT l.granted)`)
		}, 30*time.Second, 10*time.Millisecond)
	}
}

// A rate that comes while a pass is promoting holds what that pass has made AVAILABLE: these runs start as its tokens let them, whether the
// pass has met the rate behind its judgement, and there are fewer tokens than runs, or has not seen it at all.
func TestARateThatComesBesideAPassHoldsWhatThatPromotes(t *testing.T) {
	t.Parallel()
	const added, made = `UPDATE rowrun.concurrency_limit SET rate = 2, per = '1 h'`, `INSERT INTO rowrun.concurrency_limit (name, type, rate, per) VALUES ('rate', 'NOOP', 2, '1 h')`
	const ten, turns = `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('ten', 'NOOP', 10)`, `INSERT INTO rowrun.concurrency_limit (name, key_path, share) VALUES ('turns', '{tenant}', 'FAIR')`
	for name, c := range map[string]struct {
		limit, change string
		within        bool // between the judgement and the promotion, not behind both
	}{
		"added before its commit": {ten, added, false}, "made before its commit": {ten, made, false},
		"added behind its judgement": {ten, added, true}, "made behind its judgement": {ten, made, true},
		"added to turns before its commit": {turns, added, false}, "made beside turns before its commit": {turns, made, false},
		"added to turns behind its judgement": {turns, added, true}, "made beside turns behind its judgement": {turns, made, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, s, task := limitedTask(t, c.limit)
			promoteAll(t, conn)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT $1, '{"tenant": "a"}' FROM generate_series(1, 5)`, task)
			other, err := pgx.ConnectConfig(t.Context(), conn.Config())
			require.NoError(t, err)
			t.Cleanup(func() { _ = other.Close(context.WithoutCancel(t.Context())) })
			exec(t, other, `BEGIN`)
			var stopped func()
			if c.within {
				stopped = stopBefore(t, conn, "AVAILABLE")
			}
			promoted := make(chan error, 1)
			go func() {
				_, err := other.Exec(t.Context(), `SELECT rowrun.promote_runs()`)
				promoted <- err
			}()
			if c.within {
				stopped()
			} else {
				require.NoError(t, <-promoted)
			}
			exec(t, conn, c.change)
			if c.within {
				exec(t, conn, `SELECT pg_advisory_unlock(7)`)
				require.NoError(t, <-promoted)
			}
			exec(t, other, `COMMIT`)
			require.Equal(t, map[string]int{"AVAILABLE": 5}, statusCounts(t, conn))
			require.Len(t, append(work(t, s, 10).Claims, work(t, s, 10).Claims...), 2)
			for range 3 {
				require.Empty(t, work(t, s, 10).Claims)
			}
			require.True(t, query[bool](t, conn, `SELECT bool_and(adopted) FROM rowrun.concurrency_limit`))
		})
	}
}

// An edit by hand asks no lock of the passes. What it takes beside a pass, or another edit, is taken from what that has left, whether the bucket was there before or not.
func TestTokensThatAreTakenSideBySideAreAllTaken(t *testing.T) {
	t.Parallel()
	const byHand = `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = (SELECT max(id) FROM rowrun.task_run WHERE status = 'PENDING')`
	for name, c := range map[string]struct {
		first    string
		used     int // tokens that were taken before
		promoted int
	}{
		"a pass": {`SELECT rowrun.promote_runs()`, 2, 8}, "a pass, of a full bucket": {`SELECT rowrun.promote_runs()`, 0, 10},
		"an edit": {byHand, 2, 1}, "an edit, of a full bucket": {byHand, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, _, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, rate, per) VALUES ('ten', 'NOOP', 10, '1 day')`)
			exec(t, conn, `UPDATE rowrun.replica_heartbeat SET concurrency = 100`)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, $2::int)`, task, c.used)
			promoteAll(t, conn)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) SELECT $1, now() FROM generate_series(1, 20)`, task)
			first, second := connect(t, conn.Config().ConnString()), connect(t, conn.Config().ConnString())
			exec(t, first, `BEGIN`)
			exec(t, first, c.first)
			edited := make(chan error, 1)
			go func() {
				_, err := second.Exec(t.Context(), `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = (SELECT max(id) - 1 FROM rowrun.task_run WHERE status = 'PENDING')`)
				edited <- err
			}()
			require.Eventually(t, func() bool {
				return query[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_locks l WHERE l.pid = $1 AND NOT l.granted)`, second.PgConn().PID())
			}, 30*time.Second, 10*time.Millisecond)
			exec(t, first, `COMMIT`)
			require.NoError(t, <-edited)
			require.Equal(t, c.used+c.promoted+1, statusCounts(t, conn)["AVAILABLE"])
			require.Equal(t, 10-c.used-c.promoted-1, query[int](t, conn, `SELECT round(tokens)::int FROM rowrun.limit_bucket`))
			promoteAll(t, conn)
			require.Equal(t, max(c.used+c.promoted+1, 10), statusCounts(t, conn)["AVAILABLE"])
		})
	}
}
