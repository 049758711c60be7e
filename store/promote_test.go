package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A run of a plan is judged before it is due; the pass that does so tells when that will be, because no other may come.
func TestPassTellsTheTimeOfWhatItFoundNotDue(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	plan := query[int64](t, conn, `INSERT INTO rowrun.plan DEFAULT VALUES RETURNING id`)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (plan_id, type) VALUES ($1, 'NOOP') RETURNING id`, plan)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '10 min')`, task)
	pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 1})
	require.NoError(t, err)
	require.InDelta(t, 10*time.Minute, pass.NextDue, float64(time.Minute))
}

// Two promotions at once: the second leaves what has gates to the first, and says so.
func TestPromotionIsExclusive(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	fillGated(t, conn, 3)
	stopPromoter(t, conn, 3)
	other := connect(t, url)
	exec(t, other, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE plan_id IS NULL LIMIT 1`)
	pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 10})
	require.NoError(t, err)
	require.True(t, pass.Busy)
	require.Len(t, pass.Claims, 4, "what has no gate goes on")
	exec(t, conn, `COMMIT`)
}

// What a claim's hash doesn't fit is refused, whatever ends it; so is a second end.
func TestEndIsRefusedWithoutTheClaim(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	run := newRun(t, conn, task)
	pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 1})
	require.NoError(t, err)
	require.Len(t, pass.Claims, 1)
	const forged = "00000000-0000-4000-8000-000000000000"
	for _, failed := range []bool{false, true} {
		ended, _, err := s.EndRuns(t.Context(), []store.Ending{{ID: run, Claim: forged, Failed: failed}}, 0)
		require.NoError(t, err)
		require.Empty(t, ended)
	}
	require.Equal(t, "RUNNING", query[string](t, conn, `SELECT status FROM rowrun.task_run`))
	for i, want := range []int{1, 0} {
		ended, _, err := s.EndRuns(t.Context(), []store.Ending{{ID: run, Claim: pass.Claims[0].Claim, Failed: i == 1}}, 0)
		require.NoError(t, err)
		require.Len(t, ended, want)
		if i == 0 {
			// Also without a claim, as sweeps end runs: what has ended stays ended.
			for _, failed := range []bool{false, true} {
				ended, _, err = s.EndRuns(t.Context(), []store.Ending{{ID: run, Failed: failed}}, 0)
				require.NoError(t, err)
				require.Empty(t, ended)
			}
		}
	}
	require.Equal(t, "DONE", query[string](t, conn, `SELECT status FROM rowrun.task_run`))
}

// A run is handed out once, however many ask for it at once.
func TestClaimsNeverOverlap(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	addReplica(t, conn, "r")
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	n := storetest.Count(600, 20000)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, $2::int)`, task, n)
	for query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`) > 0 {
		continue
	}
	claims := make(chan []store.Claim)
	failed := make(chan error, 4)
	for range 4 {
		s := openStore(t, url)
		go func() {
			for {
				pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Want: 7})
				if err != nil || len(pass.Claims) == 0 && !pass.Contended {
					failed <- err
					return
				}
				claims <- pass.Claims
			}
		}()
	}
	seen := map[int64]bool{}
	for over := 0; over < 4; {
		select {
		case batch := <-claims:
			for _, c := range batch {
				require.False(t, seen[c.ID], "run %d was handed out twice", c.ID)
				seen[c.ID] = true
			}
		case err := <-failed:
			require.NoError(t, err)
			over++
		}
	}
	require.Len(t, seen, n)
}

// A replica whose row is gone, dead or draining claims nothing.
func TestOnlyALiveReplicaClaims(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	newRun(t, conn, task)
	for _, sql := range []string{
		`UPDATE rowrun.replica_heartbeat SET state = 'DEAD'`, `UPDATE rowrun.replica_heartbeat SET state = 'DRAINING'`,
		`DELETE FROM rowrun.replica_heartbeat`,
	} {
		exec(t, conn, sql)
		pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 1})
		require.ErrorIs(t, err, store.ErrDead, sql)
		require.Empty(t, pass.Claims)
	}
	require.ErrorIs(t, s.Heartbeat(t.Context(), "r", 0), store.ErrDead)
}

// Who renewed its lease between the look and the lock is not declared dead.
func TestDeadIsCheckedAgainUnderTheLock(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease) VALUES ('r', now() - interval '1 min', '1 s')`)
	dead, err := s.DeadReplicas(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Equal(t, []string{"r"}, dead)
	none, err := s.DeadReplicas(t.Context(), 500*time.Millisecond)
	require.NoError(t, err)
	require.Empty(t, none, "after an outage every heartbeat is old")
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = now(), lease = '1 min'`)
	ended, err := s.EndDeadReplica(t.Context(), "r")
	require.NoError(t, err)
	require.Empty(t, ended)
	require.Equal(t, "ACTIVE", query[string](t, conn, `SELECT state FROM rowrun.replica_heartbeat`))
}

// What a pass promotes it can claim at once: of more than it wants the first.
func TestFreshRunsAreClaimedWithoutASearch(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s, conn := open(t, url, time.Minute), connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, version) VALUES (1, 'NOOP', NULL, NULL), (2, 'NOOP', 'db', '1'), (3, 'EMAIL', NULL, NULL)`)
	due := `INSERT INTO rowrun.task_run (id, task_id, run_at) SELECT id, task, clock_timestamp() + interval '100 ms' FROM (VALUES %s) v(id, task); SELECT pg_sleep(0.15)`
	exec(t, conn, fmt.Sprintf(due, "(1, 1), (2, 2), (3, 3)"))
	pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 3})
	require.NoError(t, err)
	require.Equal(t, 3, pass.Promoted)
	require.Equal(t, []int64{1, 2}, []int64{pass.Claims[0].ID, pass.Claims[1].ID}, "nobody here runs EMAIL")
	require.Equal(t, []string{"RUNNING", "RUNNING", "AVAILABLE"}, runStatuses(t, conn))

	exec(t, conn, fmt.Sprintf(due, "(4, 1), (5, 1)"))
	pass, err = s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 1})
	require.NoError(t, err)
	require.Equal(t, 2, pass.Promoted)
	require.Equal(t, []int64{4}, claimedIDs(pass.Claims))
	require.Equal(t, []string{"RUNNING", "RUNNING", "AVAILABLE", "RUNNING", "AVAILABLE"}, runStatuses(t, conn))

	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET state = 'DEAD'`)
	exec(t, conn, fmt.Sprintf(due, "(6, 1)"))
	_, err = s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 3})
	require.ErrorIs(t, err, store.ErrDead)
	require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = 6`))
}

func runStatuses(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	return query[[]string](t, conn, `SELECT array_agg(status ORDER BY id) FROM rowrun.task_run`)
}
