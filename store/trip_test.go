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

// chains makes runs that follow each other: 1 → 2 by their versions on a database, 3 → 4 by a dependency in a plan, and
// 5 alone. Runs have the ids of their tasks.
func chains(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	addReplica(t, conn, "r")
	exec(t, conn, `
INSERT INTO rowrun.plan (id) VALUES (1);
INSERT INTO rowrun.task (id, plan_id, type, database_id, version) VALUES
    (1, NULL, 'NOOP', 'db', '1'), (2, NULL, 'NOOP', 'db', '2'), (3, 1, 'NOOP', NULL, NULL), (4, 1, 'NOOP', NULL, NULL), (5, NULL, 'NOOP', NULL, NULL);
INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES (4, 3);
INSERT INTO rowrun.task_run (id, task_id) SELECT id, id FROM rowrun.task`)
}

// startChains claims the first of each chain: how each of them would end, by its id.
func startChains(t *testing.T, s *store.Store) map[int64]store.Ending {
	t.Helper()
	endings := map[int64]store.Ending{}
	for range 2 { // marks of the INSERT may ask for a second look
		pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 10})
		require.NoError(t, err)
		for _, c := range pass.Claims {
			e := store.Ending{ID: c.ID, Claim: c.Claim, Database: c.DatabaseID}
			if c.PlanID != nil {
				e.PlanTask = c.TaskID
			}
			endings[c.ID] = e
		}
	}
	require.Len(t, endings, 3)
	return endings
}

// untimed are ends without their moments.
func untimed(ended []store.Ended) (all []store.Ended) {
	for _, e := range ended {
		all = append(all, store.Ended{ID: e.ID, Status: e.Status, RetryRunID: e.RetryRunID})
	}
	return all
}

// Ends, the promotion of what they open and its claim are one transaction, with a search and without.
func TestEndsPromotionAndClaimAreOneTransaction(t *testing.T) {
	t.Parallel()
	for _, claim := range []store.Claiming{store.ClaimFresh, store.ClaimAny, store.ClaimAnyAndFresh} {
		url := storetest.New(t)
		conn, s := connect(t, url), open(t, url, time.Minute)
		chains(t, conn)
		first := startChains(t, s)
		round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{first[5], first[3], first[1]}, LockTimeout: time.Second, Promote: store.PromoteDue, Claim: claim, Want: 10})
		require.NoError(t, err)
		require.ElementsMatch(t, []store.Ended{{ID: 1, Status: "DONE"}, {ID: 3, Status: "DONE"}, {ID: 5, Status: "DONE"}}, untimed(round.Ended))
		require.Empty(t, round.Left)
		require.Equal(t, 2, round.Promoted)
		require.ElementsMatch(t, []int64{2, 4}, claimedIDs(round.Claims))
		require.Equal(t, []string{"DONE", "RUNNING", "DONE", "RUNNING", "DONE"}, runStatuses(t, conn))
		require.Equal(t, 1, query[int](t, conn, `SELECT count(DISTINCT xmin::text) FROM rowrun.task_run`), "transactions that wrote the rows last")

		for _, c := range round.Claims { // their claims hold
			ended, _, err := s.EndRuns(t.Context(), []store.Ending{{ID: c.ID, Claim: c.Claim, Database: "db"}}, time.Second)
			require.NoError(t, err)
			require.Len(t, ended, 1)
		}
	}
}

// What may not be claimed, or isn't asked for, is promoted nevertheless.
func TestATripClaimsNoMoreThanItWants(t *testing.T) {
	t.Parallel()
	for want, statuses := range map[int][]string{
		0: {"DONE", "AVAILABLE", "DONE", "AVAILABLE", "RUNNING"},
		1: {"DONE", "RUNNING", "DONE", "AVAILABLE", "RUNNING"},
	} {
		url := storetest.New(t)
		conn, s := connect(t, url), open(t, url, time.Minute)
		chains(t, conn)
		first := startChains(t, s)
		round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{first[1], first[3]}, LockTimeout: time.Second, Promote: store.PromoteDue, Want: want})
		require.NoError(t, err)
		require.Len(t, round.Claims, want)
		require.Equal(t, 2, round.Promoted)
		require.Equal(t, statuses, runStatuses(t, conn))
	}
}

// Where statistics say that there is a single run, a plan may read all runs first, and look for the one to claim for each of them.
func TestATripClaimsNoMoreThanItWantsFromASmallTable(t *testing.T) {
	t.Parallel()
	for _, want := range []int{1, 2} {
		for _, lane := range []store.Lane{store.LaneEnds, store.LanePasses} {
			url := storetest.New(t)
			conn := connect(t, url)
			addReplica(t, conn, "r")
			exec(t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP'), ('ELSE'); INSERT INTO rowrun.task_run (task_id) SELECT min(id) FROM rowrun.task`)
			for _, table := range []string{"task", "task_run", "plan", "replica_heartbeat"} {
				exec(t, conn, `ANALYZE rowrun.`+table)
			}
			s := open(t, url, time.Minute)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT min(id) FROM rowrun.task, generate_series(1, 5) i GROUP BY i`)
			for claimed := want; claimed <= 6; claimed += want {
				round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Want: want, Lane: lane})
				require.NoError(t, err)
				require.Len(t, round.Claims, want)
				require.Equal(t, claimed, query[int](t, conn, `SELECT count(DISTINCT claim_hash) FROM rowrun.task_run WHERE status = 'RUNNING'`), "a claim each")
				require.Equal(t, claimed, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`))
			}
		}
	}
}

// A claim that doesn't fit, and an end that was written before, are missing in the answer; the others count. A plain end is left
// to the statement for all.
func TestATripTellsWhatWasRefused(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	chains(t, conn)
	first := startChains(t, s)
	forged := first[1]
	forged.Claim = "00000000-0000-4000-8000-000000000000"
	for _, want := range [][]store.Ended{{{ID: 3, Status: "DONE"}}, nil} {
		round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{forged, first[3]}, LockTimeout: time.Second, Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 10})
		require.NoError(t, err)
		require.Equal(t, want, untimed(round.Ended))
		require.Equal(t, []store.Ending{forged}, round.Left, "of a plan's run it is known by now")
		require.Equal(t, []string{"RUNNING", "PENDING", "DONE", "RUNNING", "RUNNING"}, runStatuses(t, conn))
	}
}

// A row that somebody holds costs the whole round, whether the endings are plain or not; the same endings are written
// when it is free again.
func TestNothingOfARoundStandsAfterAnError(t *testing.T) {
	t.Parallel()
	for lock, ids := range map[string][]int64{
		`SELECT FROM rowrun.task WHERE id = 3 FOR UPDATE`:     {1, 3},
		`SELECT FROM rowrun.task_run WHERE id = 5 FOR UPDATE`: {5},
	} {
		url := storetest.New(t)
		conn, s, user := connect(t, url), open(t, url, time.Minute), connect(t, url)
		chains(t, conn)
		first := startChains(t, s)
		var endings []store.Ending
		for _, id := range ids {
			endings = append(endings, first[id])
		}
		before := runStatuses(t, conn)
		exec(t, conn, `INSERT INTO rowrun.task_run (id, task_id) VALUES (6, 5)`)
		exec(t, user, `BEGIN`)
		exec(t, user, lock)
		round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: endings, LockTimeout: 20 * time.Millisecond, Promote: store.PromoteDue, Want: 10})
		require.Equal(t, "55P03", store.SQLState(err), "%v", err)
		require.Empty(t, round)
		require.Equal(t, slices.Concat(before, []string{"AVAILABLE"}), runStatuses(t, conn))

		exec(t, user, `ROLLBACK`)
		round, err = s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: endings, LockTimeout: time.Second, Promote: store.PromoteDue, Want: 10})
		require.NoError(t, err)
		require.Len(t, round.Ended, len(ids))
		require.Contains(t, claimedIDs(round.Claims), int64(6))
	}
}

// A replica that was declared dead, drains or is gone still ends what it holds, and promotes; it claims nothing.
func TestADeadReplicaEndsAndClaimsNothing(t *testing.T) {
	t.Parallel()
	for sql, promote := range map[string]store.Promotion{
		`UPDATE rowrun.replica_heartbeat SET state = 'DEAD' WHERE replica_id = 'r'`:     store.PromoteDue,
		`UPDATE rowrun.replica_heartbeat SET state = 'DRAINING' WHERE replica_id = 'r'`: store.PromoteDue,
		`DELETE FROM rowrun.replica_heartbeat WHERE replica_id = 'r'`:                   store.PromoteDue,
	} {
		for _, claim := range []store.Claiming{store.ClaimFresh, store.ClaimAny, store.ClaimAnyAndFresh} {
			url := storetest.New(t)
			conn, s := connect(t, url), open(t, url, time.Minute)
			chains(t, conn)
			addReplica(t, conn, "other") // without one that could run them, what has gates isn't promoted
			first := startChains(t, s)
			exec(t, conn, sql)
			round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{first[1], first[3], first[5]}, LockTimeout: time.Second, Promote: promote, Claim: claim, Want: 10})
			require.ErrorIs(t, err, store.ErrDead, sql)
			require.Len(t, round.Ended, 3)
			require.Empty(t, round.Left)
			require.Empty(t, round.Claims)
			require.Equal(t, []string{"DONE", "AVAILABLE", "DONE", "AVAILABLE", "DONE"}, runStatuses(t, conn), sql)
		}
	}
}

func claimedIDs(claims []store.Claim) []int64 {
	ids := make([]int64, len(claims))
	for i := range claims {
		ids[i] = claims[i].ID
	}
	return ids
}
