package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// skippedWorld is a database with AVAILABLE runs of a skipped task: they were inserted while it wasn't yet, and committed when it was.
func skippedWorld(t *testing.T, kind string, runs int) (conn *pgx.Conn, s *store.Store) {
	t.Helper()
	url := storetest.New(t)
	conn, s = connect(t, url), openStore(t, url)
	user := connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, $1)`, kind)
	exec(t, user, `BEGIN`)
	exec(t, user, `INSERT INTO rowrun.task_run (task_id) SELECT 1 FROM generate_series(1, $1)`, runs)
	exec(t, conn, `SELECT rowrun.skip_task(1)`)
	promoteAll(t, conn) // takes the mark of that
	exec(t, user, `COMMIT`)
	require.Equal(t, map[string]int{"AVAILABLE": runs}, statusCounts(t, conn))
	return conn, s
}

// A run of a skipped task is claimed by nobody, whichever statement looks for it.
func TestARunOfASkippedTaskIsNotClaimed(t *testing.T) {
	t.Parallel()
	of := func(want int, with func(*store.Capabilities)) func(*testing.T, *pgx.Conn, *store.Store) int {
		return func(t *testing.T, _ *pgx.Conn, s *store.Store) int {
			t.Helper()
			w := noop()
			if with != nil {
				with(&w)
			}
			round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: w, Promote: store.PromoteDue, Claim: store.ClaimAny, Want: want})
			require.NoError(t, err)
			return len(round.Claims)
		}
	}
	for name, claim := range map[string]func(*testing.T, *pgx.Conn, *store.Store) int{
		"one":           of(1, nil),
		"several":       of(10, nil),
		"after another": of(10, func(w *store.Capabilities) { w.Cursor = store.SlowCursor(1, time.Now(), time.Hour) }),
		"limited": func(t *testing.T, conn *pgx.Conn, s *store.Store) int {
			t.Helper()
			exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('many', 'NOOP', 100)`)
			return of(10, nil)(t, conn, s) + of(10, nil)(t, conn, s)
		},
		"limited, by turns": func(t *testing.T, conn *pgx.Conn, s *store.Store) int {
			t.Helper()
			exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, key_path, share) VALUES ('turns', '{tenant}', 'FAIR')`)
			exec(t, conn, `INSERT INTO rowrun.limit_holder (run_id, limit_key, paid, share_id, turn) SELECT r.id, l.id || ':a', true, l.id, r.id FROM rowrun.task_run r, rowrun.concurrency_limit l`)
			return query[int](t, conn, `SELECT cardinality(rowrun.in_turn('{}', '{default}', '{NOOP}', '{}', '{}', 10)) + (SELECT taken FROM rowrun.fair_room((SELECT id FROM rowrun.concurrency_limit), now()))`)
		},
		"a worker": func(t *testing.T, conn *pgx.Conn, _ *store.Store) int {
			t.Helper()
			return query[int](t, conn, `SELECT count(*) FROM rowrun.claim_runs(gen_random_uuid(), 'w', '{OWN}', 10)`)
		},
		"a worker, limited": func(t *testing.T, conn *pgx.Conn, _ *store.Store) int {
			t.Helper()
			exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('many', 'OWN', 100)`)
			return query[int](t, conn, `SELECT count(*) FROM rowrun.claim_runs(gen_random_uuid(), 'w', '{OWN}', 10)`)
		},
		"with its promotion": func(t *testing.T, conn *pgx.Conn, _ *store.Store) int {
			t.Helper()
			exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica; UPDATE rowrun.task_run SET status = 'PENDING'; COMMIT`)
			return query[int](t, conn, `SELECT cardinality(m.ids) FROM rowrun.make_running('{1,2,3}', clock_timestamp(),
				ROW('r', (SELECT string_agg(sha256(uuid_send(gen_random_uuid())), '') FROM generate_series(1, 3)), 0, 0, '{default}', '{NOOP}', '{}', '{}')::rowrun.claim_request) m`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, s := skippedWorld(t, map[bool]string{true: "OWN", false: "NOOP"}[strings.HasPrefix(name, "a worker")], 3)
			require.Zero(t, claim(t, conn, s))
			require.Zero(t, statusCounts(t, conn)["RUNNING"])
		})
	}
}

// A run that was committed, or promoted, just before the skip of its task is canceled by that, or by the pass behind it.
func TestASkipCancelsWhatBecameAvailableBesideIt(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, user := connect(t, url), connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id) VALUES (1, 'NOOP', NULL), (2, 'NOOP', 'd')`)
	exec(t, user, `BEGIN`)
	inserted := newRun(t, user, 1)
	exec(t, conn, `SELECT rowrun.skip_task(1)`)
	exec(t, user, `COMMIT`)
	require.Equal(t, "AVAILABLE", statusOf(t, conn, inserted))
	promoteAll(t, conn)
	require.Equal(t, "CANCELED", statusOf(t, conn, inserted))

	promoted := newRun(t, conn, 2)
	exec(t, user, `BEGIN`)
	exec(t, user, `SELECT rowrun.promote_runs()`)
	require.Equal(t, "AVAILABLE", statusOf(t, user, promoted))
	skipped := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), `SELECT rowrun.skip_task(2)`)
		skipped <- err
	}()
	waitsForLock(t, user, conn)
	exec(t, user, `COMMIT`)
	require.NoError(t, <-skipped)
	require.Equal(t, "CANCELED", statusOf(t, conn, promoted))
}

// A sweep cancels AVAILABLE runs of skipped tasks as it does with PENDING ones, and goes on with the next of them where there are many.
func TestASweepCancelsAvailableRunsOfSkippedTasks(t *testing.T) {
	t.Parallel()
	conn, _ := skippedWorld(t, "NOOP", 3)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, queue) VALUES (2, 'NOOP', 'default'), (3, 'OTHER', 'other')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, priority) SELECT 2, n % 7 FROM generate_series(1, 2500) n`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT 3 FROM generate_series(1, 10) n`)
	exec(t, conn, `SELECT rowrun.promote_runs()`)
	require.Equal(t, 2513, statusCounts(t, conn)["AVAILABLE"], "a pass with marks alone looks at none")
	for sweeps := 0; statusCounts(t, conn)["CANCELED"] < 3; sweeps++ {
		require.Less(t, sweeps, 5, "each looks at some more")
		exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	}
	require.Equal(t, map[string]int{"AVAILABLE": 2510, "CANCELED": 3}, statusCounts(t, conn))
	require.Equal(t, []string{`task skipped {"code": "CANCELED", "detail": "Task run canceled: task skipped"}`},
		query[[]string](t, conn, `SELECT array_agg(DISTINCT cancel_reason || ' ' || result) FROM rowrun.task_run WHERE status = 'CANCELED'`))

	for _, odd := range []string{"junk", `{"a": 1}`, `["a"]`, `[1, 2, "x", "y", "z"]`, `["", "", 0, "never", 1e30]`, `7`} {
		exec(t, conn, `SELECT set_config('rowrun.available_at', $1, false)`, odd) // the database's owner may set it for all
		exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	}

	// A task that is skipped no more keeps its runs.
	exec(t, conn, `SELECT rowrun.unskip_task(1)`)
	newRun(t, conn, 1)
	for range 5 {
		exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	}
	require.Equal(t, map[string]int{"AVAILABLE": 2511, "CANCELED": 3}, statusCounts(t, conn))
}
