package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// heldBack takes all places of a limit away, so that the claim of the AVAILABLE runs that hold them passes them by.
func heldBack(t *testing.T, conn *pgx.Conn, runs int, claim func() int) {
	t.Helper()
	require.Equal(t, map[string]int{"AVAILABLE": runs}, statusCounts(t, conn))
	exec(t, conn, `UPDATE rowrun.concurrency_limit SET max_running = 0`)
	require.Zero(t, claim())
	require.Equal(t, runs, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE limit_wait IS NOT NULL AND status = 'AVAILABLE'`))
}

// A run that has paid its token is let go again where there is a place, whether there is another token or not; one that hasn't needs one.
func TestAClaimThatWasHeldBackNeedsNoSecondToken(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, max_running, rate, per) VALUES ('two', 'NOOP', 5, 2, '1 h')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 2)`, task)
	promoteAll(t, conn)
	heldBack(t, conn, 2, func() int { return len(work(t, s, 10).Claims) })
	// Two more that were AVAILABLE without a token come first in the order, and wait for one.
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, root_id, status, priority, creator, type, queue, sequential, available_at, limit_keys, limit_wait)
		SELECT task_id, 100 + id, status, 9, creator, type, queue, sequential, available_at, limit_keys, limit_wait FROM rowrun.task_run`)
	exec(t, conn, `COMMIT`)
	exec(t, conn, `UPDATE rowrun.concurrency_limit SET max_running = 5`)
	promoteAll(t, conn)
	require.Equal(t, []int64{1, 2}, query[[]int64](t, conn, `SELECT array_agg(id ORDER BY id) FROM rowrun.task_run WHERE limit_wait IS NULL`))
	require.Len(t, work(t, s, 10).Claims, 2)
	require.Empty(t, work(t, s, 10).Claims, "no token is left")
}

// A run that a person makes AVAILABLE waits for no limit any more, and those behind it needn't wait for its time.
func TestARunThatIsPromotedByHandWaitsForNoLimit(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, rate, per) VALUES ('one', 'NOOP', 1, '1 h')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 3)`, task)
	require.Len(t, work(t, s, 10).Claims, 1)
	promoteAll(t, conn)
	require.Equal(t, []int64{2}, query[[]int64](t, conn, `SELECT array_agg(id) FROM rowrun.task_run WHERE judge_at IS NOT NULL`), "the first has the time of the key")
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = 2`)
	require.True(t, query[bool](t, conn, `SELECT limit_wait IS NULL FROM rowrun.task_run WHERE id = 2`))
	require.Equal(t, []int64{2}, claimedIDs(work(t, s, 10).Claims))
	promoteAll(t, conn)
	require.Equal(t, []int64{3}, query[[]int64](t, conn, `SELECT array_agg(id) FROM rowrun.task_run WHERE judge_at IS NOT NULL`))
}

// A rate that a limit is given later holds back what is AVAILABLE by then: that has taken no tokens.
func TestARateThatIsAddedHoldsWhatIsAvailable(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('ten', 'NOOP', 10)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 5)`, task)
	require.Len(t, work(t, s, 1).Claims, 1)
	require.Equal(t, map[string]int{"AVAILABLE": 4, "RUNNING": 1}, statusCounts(t, conn))
	exec(t, conn, `UPDATE rowrun.concurrency_limit SET rate = 2, per = '1 h'`)
	require.Len(t, append(work(t, s, 10).Claims, work(t, s, 10).Claims...), 2)
	require.Empty(t, work(t, s, 10).Claims)
	require.True(t, query[bool](t, conn, `SELECT adopted FROM rowrun.concurrency_limit`))
}

// A limit whose row somebody holds counts what ran before it all the same.
func TestALimitWhoseRowSomebodyHoldsCounts(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s, user := connect(t, url), openStore(t, url), connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT 1 FROM generate_series(1, 3)`)
	running := work(t, s, 2).Claims
	require.Len(t, running, 2)
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('two', 'NOOP', 2)`)
	exec(t, user, `BEGIN`)
	exec(t, user, `SELECT FROM rowrun.concurrency_limit FOR UPDATE`)
	newRun(t, conn, 1)
	_, err := s.Survey(t.Context(), "r", noop(), store.SurveyAll)
	require.NoError(t, err)
	promoteAll(t, conn)
	require.Equal(t, map[string]int{"AVAILABLE": 1, "PENDING": 1, "RUNNING": 2}, statusCounts(t, conn))
	require.Empty(t, work(t, s, 10).Claims)
	require.False(t, query[bool](t, conn, `SELECT adopted FROM rowrun.concurrency_limit`))
	endClaims(t, s, running[:1])
	require.Len(t, append(work(t, s, 10).Claims, work(t, s, 10).Claims...), 1, "it lets go what it has a place for")
	require.Empty(t, work(t, s, 10).Claims)
	exec(t, user, `ROLLBACK`)
	promoteAll(t, conn)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.True(t, query[bool](t, conn, `SELECT adopted FROM rowrun.concurrency_limit`))
	require.Equal(t, map[string]int{"DONE": 1, "PENDING": 1, "RUNNING": 2}, statusCounts(t, conn))
}

// The run that has the time of its key is deleted: the next one has it.
func TestTheTimeOfALimitSurvivesItsRun(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, rate, per) VALUES ('one', 'NOOP', 1, '1 h')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 3)`, task)
	require.Len(t, work(t, s, 10).Claims, 1)
	promoteAll(t, conn)
	exec(t, conn, `DELETE FROM rowrun.task_run WHERE judge_at IS NOT NULL`)
	promoteAll(t, conn)
	require.Equal(t, []int64{3}, query[[]int64](t, conn, `SELECT array_agg(id) FROM rowrun.task_run WHERE judge_at IS NOT NULL`))
}

// A place comes free while somebody holds the run that waits for it: it is looked at again, and not only at its time.
func TestARunThatSomebodyHeldWhenItsLimitOpenedIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, user := connect(t, url), connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, not_before) VALUES ('later', 'NOOP', now() + interval '1 h')`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP')`)
	run := newRun(t, conn, 1)
	promoteAll(t, conn)
	require.True(t, query[bool](t, conn, `SELECT judge_at > now() + interval '50 min' FROM rowrun.task_run`))
	exec(t, user, `BEGIN`)
	exec(t, user, `SELECT FROM rowrun.task_run FOR UPDATE`)
	exec(t, conn, `UPDATE rowrun.concurrency_limit SET not_before = NULL`)
	exec(t, conn, `SELECT rowrun.promote_runs()`)
	exec(t, user, `ROLLBACK`)
	promoteAll(t, conn)
	require.Equal(t, "AVAILABLE", statusOf(t, conn, run))
}

// A replica that has more slots from now on gives turns at once.
func TestMoreSlotsGiveMoreTurns(t *testing.T) {
	t.Parallel()
	conn, _, task := limitedTask(t, fairLimit)
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET concurrency = 2`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT $1, jsonb_build_object('tenant', n % 3) FROM generate_series(1, 9) n`, task)
	promoteAll(t, conn)
	require.Equal(t, map[string]int{"AVAILABLE": 2, "PENDING": 7}, statusCounts(t, conn))
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET concurrency = 1`)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark`))
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET concurrency = 6`)
	promoteAll(t, conn)
	require.Equal(t, map[string]int{"AVAILABLE": 6, "PENDING": 3}, statusCounts(t, conn))
}
