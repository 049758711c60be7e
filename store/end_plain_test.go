package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Endings that look plain and aren't are left, or written by the function; the rest of their batch is written at once.
func TestEndingsThatAreNotPlainAfterAll(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1);
INSERT INTO rowrun.task (id, plan_id, type, database_id, schedule) VALUES (1, NULL, 'NOOP', NULL, NULL), (2, 1, 'NOOP', NULL, NULL),
    (3, NULL, 'NOOP', 'db', NULL), (4, NULL, 'NOOP', NULL, '@every 1h'), (5, NULL, 'NOOP', NULL, '@every 1h'), (6, NULL, 'NOOP', NULL, NULL);
INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE id <> 4;
UPDATE rowrun.task_run SET run_at = now() WHERE task_id = 4`)
	// By the tasks: plain, of a plan, of a database, with a tick, beside a schedule with a state to keep, with a large result.
	results := map[int64]string{5: `{"state": {"page": 7}}`, 6: `{"text": "` + random(t, conn, 3000) + `"}`}
	begin := func() (endings []store.Ending, runs map[int64]int64) {
		runs = map[int64]int64{}
		for len(endings) < 6 {
			pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 10})
			require.NoError(t, err)
			for _, c := range pass.Claims {
				runs[c.TaskID] = c.ID
				endings = append(endings, store.Ending{ID: c.ID, Claim: c.Claim, Result: []byte(results[c.TaskID])})
			}
		}
		return endings, runs
	}
	all, runs := begin()
	round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: all, LockTimeout: time.Second})
	require.NoError(t, err)
	require.Equal(t, []store.Ended{{ID: runs[1], Status: "DONE"}}, untimed(round.Ended))
	require.Len(t, round.Left, 5)
	require.False(t, slices.ContainsFunc(round.Left, func(e store.Ending) bool { return e.ID == runs[1] }))
	require.Equal(t, 5, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`), "what is left stays as it is")
	ended, _, err := s.EndRuns(t.Context(), round.Left, time.Second)
	require.NoError(t, err)
	require.Len(t, ended, 5)
	check := func() {
		require.Equal(t, "7", query[string](t, conn, `SELECT state ->> 'page' FROM rowrun.task WHERE id = 5`), "the state is kept")
		require.Equal(t, 3000, query[int](t, conn, `SELECT length(result ->> 'text') FROM rowrun.task_run WHERE id = $1`, runs[6]))
		require.Equal(t, "DONE", query[string](t, conn, `SELECT outcome FROM rowrun.task WHERE id = 2`), "the plan's task knows")
		require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE task_id = 4 AND status = 'PENDING'`), "the next tick has its run")
	}
	check()

	exec(t, conn, `UPDATE rowrun.task SET state = NULL WHERE id = 5`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE id <> 4`)
	exec(t, conn, `UPDATE rowrun.task_run SET run_at = now() WHERE task_id = 4 AND status = 'PENDING'`)
	all, runs = begin()
	ended, _, err = s.EndRuns(t.Context(), all, time.Second) // the same in one call
	require.NoError(t, err)
	require.Len(t, ended, 6)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`))
	check()
}

// A run that was canceled meanwhile keeps its claim's hash, so that a late report of its app is told from a forged one;
// a plain end of it is refused nevertheless.
func TestAPlainEndOfACanceledRunIsRefused(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	chains(t, conn)
	e := startChains(t, s)[5]
	exec(t, conn, `SELECT rowrun.cancel_run(5, 'enough')`)
	failed := e
	failed.Failed = true
	ended, _, err := s.EndRuns(t.Context(), []store.Ending{failed}, time.Second)
	require.NoError(t, err)
	require.Equal(t, []store.Ended{{ID: 5, Status: "CANCELED"}}, untimed(ended))
	ended, _, err = s.EndRuns(t.Context(), []store.Ending{e}, time.Second)
	require.NoError(t, err)
	require.Empty(t, ended)
	require.Equal(t, "CANCELED", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = 5`))
}

// A plain end is announced as any other.
func TestPlainEndsAreAnnounced(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s, hearer := connect(t, url), open(t, url, time.Minute), connect(t, url)
	chains(t, conn)
	first := startChains(t, s)
	exec(t, hearer, `LISTEN `+store.Channel)
	round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{first[5]}, LockTimeout: time.Second})
	require.NoError(t, err)
	require.Len(t, round.Ended, 1)
	n, err := hearer.WaitForNotification(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `[{"run_id": 5, "task_id": 5, "plan_id": null, "from": "RUNNING", "to": "DONE", "attempt": 0, "replica_id": "r"}]`, n.Payload)
}

// random is text of n letters that doesn't compress to nothing.
func random(t *testing.T, conn *pgx.Conn, n int) string {
	t.Helper()
	text := query[string](t, conn, `SELECT string_agg(md5(i::text), '') FROM generate_series(1, $1::int) i`, n/32+1)
	return text[:n]
}
