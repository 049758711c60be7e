package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// A rate that comes while a pass is promoting holds what that pass has made AVAILABLE: these runs start as its tokens let them, whether the
// pass has met the rate behind its judgement, and there are fewer tokens than runs, or has not seen it at all.
func TestARateThatComesBesideAPassHoldsWhatThatPromotes(t *testing.T) {
	t.Parallel()
	const added, made = `UPDATE rowrun.concurrency_limit SET rate = 2, per = '1 h'`, `INSERT INTO rowrun.concurrency_limit (name, type, rate, per) VALUES ('rate', 'NOOP', 2, '1 h')`
	for name, c := range map[string]struct {
		change string
		within bool // between the judgement and the promotion, not behind both
	}{
		"added before its commit": {added, false}, "made before its commit": {made, false},
		"added behind its judgement": {added, true}, "made behind its judgement": {made, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('ten', 'NOOP', 10)`)
			promoteAll(t, conn)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 5)`, task)
			other, err := pgx.ConnectConfig(t.Context(), conn.Config())
			require.NoError(t, err)
			t.Cleanup(func() { _ = other.Close(context.WithoutCancel(t.Context())) })
			exec(t, other, `BEGIN`)
			if c.within {
				exec(t, conn, `CREATE FUNCTION public.waits() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS 'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END'`)
				exec(t, conn, `CREATE TRIGGER waits BEFORE UPDATE ON rowrun.task_run FOR EACH ROW WHEN (NEW.status = 'AVAILABLE') EXECUTE FUNCTION public.waits()`)
				exec(t, conn, `SELECT pg_advisory_lock(7)`)
			}
			promoted := make(chan error, 1)
			go func() {
				_, err := other.Exec(t.Context(), `SELECT rowrun.promote_runs()`)
				promoted <- err
			}()
			if c.within {
				require.Eventually(t, func() bool {
					return query[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
						WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.objid = 7 AND NOT l.granted)`)
				}, 30*time.Second, 10*time.Millisecond)
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
