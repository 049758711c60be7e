package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// atOnce checks that runs went from PENDING to RUNNING in one version of their rows, under the hashes of these claims, and that
// each was announced with both of its edges, once.
func atOnce(t *testing.T, conn *pgx.Conn, l *listener, claims []store.Claim) {
	t.Helper()
	said := strings.Join(l.heard(t), "")
	for _, c := range claims {
		require.True(t, query[bool](t, conn, `SELECT status = 'RUNNING' AND prev_status = 'PENDING' AND edited_directly IS NULL AND cause IS NULL AND judge_at IS NULL
			AND available_at >= run_at AND available_at >= created_at AND available_at <= started_at AND started_at <= clock_timestamp()
			AND updated_at = started_at AND replica_id = 'r' AND claim_hash = sha256(uuid_send($2::uuid))
			FROM rowrun.task_run WHERE id = $1`, c.ID, c.Claim), query[string](t, conn, `SELECT r::text FROM rowrun.task_run r WHERE id = $1`, c.ID))
		plan := "null"
		if c.PlanID != nil {
			plan = fmt.Sprint(*c.PlanID)
		}
		of := fmt.Sprintf(`{"run_id":%d,"task_id":%d,"plan_id":%s,"from":`, c.ID, c.TaskID, plan)
		both := of + `"PENDING","to":"AVAILABLE","attempt":0,"replica_id":null},` + of + `"AVAILABLE","to":"RUNNING","attempt":0,"replica_id":"r"}`
		require.Equal(t, 1, strings.Count(said, both), "%s\n%s", both, said)
		require.Equal(t, 2, strings.Count(said, fmt.Sprintf(`{"run_id":%d,`, c.ID)), said)
	}
}

// due inserts runs that no gate but time holds, and waits until they are due.
func due(t *testing.T, conn *pgx.Conn, values string) {
	t.Helper()
	exec(t, conn, `INSERT INTO rowrun.task_run (id, task_id, priority, run_at)
		SELECT v.*, clock_timestamp() + interval '50 ms' FROM (VALUES `+values+`) v(id, task_id, priority)`)
	exec(t, conn, `SELECT pg_sleep(0.08)`)
}

// Whatever lets a run through: while a slot is free for it, its row is written once.
func TestWhatIsLetThroughStartsInOneVersionOfItsRow(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 20);
INSERT INTO rowrun.task (id, type, timeout) VALUES (1, 'NOOP', '10 min');
INSERT INTO rowrun.task (id, type, database_id, version) SELECT n, 'NOOP', 'db', n::text FROM generate_series(10, 12) n;
INSERT INTO rowrun.task (id, plan_id, name, type) SELECT n, 1, 't' || n, 'NOOP' FROM generate_series(100, 129) n;
INSERT INTO rowrun.task_dependency VALUES (129, 100);
SELECT setval('rowrun.task_run_id_seq', 1000)`)
	l := newListener(t, url)

	due(t, conn, "(1, 1, 0)")
	pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 10})
	require.NoError(t, err)
	require.Equal(t, []int64{1}, claimedIDs(pass.Claims))
	require.False(t, pass.Gated, "nothing is left for a search")
	require.InDelta(t, 10*time.Minute, pass.Claims[0].Timeout, float64(time.Second))
	require.True(t, query[bool](t, conn, `SELECT deadline = started_at + interval '10 min' FROM rowrun.task_run`))
	atOnce(t, conn, l, pass.Claims)

	// Versions: the first by a pass, each other by the end before it.
	exec(t, conn, `INSERT INTO rowrun.task_run (id, task_id) SELECT n, n FROM generate_series(10, 12) n`)
	pass, err = s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 10})
	require.NoError(t, err)
	require.Equal(t, []int64{10}, claimedIDs(pass.Claims))
	atOnce(t, conn, l, pass.Claims)
	for id := int64(11); id <= 12; id++ {
		round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{endingOf(pass.Claims[0])}, LockTimeout: time.Second, Claim: store.ClaimFresh, Want: 10})
		require.NoError(t, err)
		require.Equal(t, []int64{id}, claimedIDs(round.Claims))
		require.False(t, round.Marked)
		atOnce(t, conn, l, round.Claims)
		pass.Claims = round.Claims
	}
	_, err = s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{endingOf(pass.Claims[0])}, LockTimeout: time.Second, Claim: store.ClaimFresh, Want: 10})
	require.NoError(t, err)

	// A plan with a limit, and a task of it that waits for another.
	exec(t, conn, `SELECT rowrun.run_plan(1)`)
	exec(t, conn, `UPDATE rowrun.task_run SET priority = 1 WHERE task_id = 100`)
	l.heard(t)
	pass, err = s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 100})
	require.NoError(t, err)
	require.Len(t, pass.Claims, 20)
	require.Equal(t, int64(100), pass.Claims[0].TaskID, "the order of promotion")
	require.Equal(t, "20 10", query[string](t, conn, `SELECT count(*) FILTER (WHERE status = 'RUNNING') || ' ' || count(*) FILTER (WHERE status = 'PENDING')
		FROM rowrun.task_run WHERE plan_id = 1`))
	atOnce(t, conn, l, pass.Claims)
	waits := query[int64](t, conn, `SELECT id FROM rowrun.task_run WHERE task_id = 129`)
	for n := range 2 { // its turn comes after the 9 that wait for nothing
		ends := pass.Claims[:10]
		if n == 1 {
			ends = pass.Claims[10:11]
		}
		var endings []store.Ending
		for _, c := range ends {
			endings = append(endings, endingOf(c))
		}
		_, _, err := s.EndRuns(t.Context(), endings, time.Second)
		require.NoError(t, err)
		l.heard(t)
		for more := true; more; {
			next, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 100})
			require.NoError(t, err)
			atOnce(t, conn, l, next.Claims)
			more = next.More || len(next.Claims) > 0
			if slices.Contains(claimedIDs(next.Claims), waits) {
				waits = 0
			}
		}
	}
	require.Zero(t, waits, "the task that waited for another was claimed when it was let through")
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE')`))
}

// Where slots don't last for all, the first in the order of priority get them, and the others are AVAILABLE, announced as that.
func TestSlotsGoToTheFirstOfWhatIsLetThrough(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]string{
		"due runs":    ``,
		"of a plan":   `UPDATE rowrun.task SET plan_id = 1`,
		"of versions": `UPDATE rowrun.task SET database_id = 'db' || id, version = '1'`,
		"sequential":  `UPDATE rowrun.task SET database_id = 'db' || id, version = '1', sequential = true`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, s := connect(t, url), open(t, url, time.Minute)
			addReplica(t, conn, "r")
			exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1)`)
			exec(t, conn, `INSERT INTO rowrun.task (id, type, paused) SELECT n, 'NOOP', n = 6 FROM generate_series(1, 6) n;
				INSERT INTO rowrun.task (id, type) VALUES (7, 'HTTP')`)
			exec(t, conn, prepare)
			due(t, conn, "(1, 1, 0), (2, 2, 5), (3, 3, 1), (4, 4, 3), (5, 5, 4), (6, 6, 9), (7, 7, 9)")
			l := newListener(t, url)
			pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 3})
			require.NoError(t, err)
			require.Equal(t, 6, pass.Promoted)
			require.True(t, pass.Gated, "a search finds the others")
			require.Equal(t, []int64{2, 5, 4}, claimedIDs(pass.Claims))
			// The task of the sixth is paused, and this replica runs no HTTP.
			require.Equal(t, []string{"AVAILABLE", "RUNNING", "AVAILABLE", "RUNNING", "RUNNING", "PENDING", "AVAILABLE"}, runStatuses(t, conn))
			said := l.heard(t)
			for _, id := range []int64{1, 3, 7} {
				require.Equal(t, 1, strings.Count(strings.Join(said, ""), fmt.Sprintf(`{"run_id":%d,`, id)))
			}
			atOnce(t, conn, &listener{conn: l.conn, say: l.say, again: said}, pass.Claims)

			pass, err = s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Want: 10})
			require.NoError(t, err)
			require.Equal(t, []int64{3, 1}, claimedIDs(pass.Claims))
		})
	}
}

// A sequential run beside which somebody has made another AVAILABLE by hand costs itself, and no slot of another.
func TestARunThatCannotStartTakesNoSlot(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s, user := connect(t, url), open(t, url, time.Minute), connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, sequential) SELECT n, 'NOOP', 'db' || least(n, 3), true FROM generate_series(1, 4) n`)
	exec(t, conn, `INSERT INTO rowrun.task_run (id, task_id, priority) VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (id, task_id, run_at) VALUES (4, 4, now() + interval '1 day')`)
	exec(t, user, `BEGIN; UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = 4`)
	pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 2})
	require.NoError(t, err)
	require.ElementsMatch(t, []int64{1, 2}, claimedIDs(pass.Claims))
	require.Equal(t, []string{"RUNNING", "RUNNING", "PENDING", "PENDING"}, runStatuses(t, conn))
	claims := map[string]bool{}
	for _, c := range pass.Claims {
		require.True(t, query[bool](t, conn, `SELECT claim_hash = sha256(uuid_send($2::uuid)) FROM rowrun.task_run WHERE id = $1`, c.ID, c.Claim))
		claims[c.Claim] = true
	}
	require.Len(t, claims, 2)
	exec(t, user, `ROLLBACK`)
}

// Who edits runs while passes start them: an edit that was committed before the start holds, and one after it is refused.
func TestAnEditIsSeenOrRefused(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, user, s := connect(t, url), connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 3); INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP');
		INSERT INTO rowrun.task (id, plan_id, name, type) SELECT n, 1, n::text, 'NOOP' FROM generate_series(2, 61) n;
		INSERT INTO rowrun.task (id, type, database_id, version) SELECT n, 'NOOP', 'db' || n % 4, n::text FROM generate_series(62, 121) n`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) SELECT 1, clock_timestamp() + n * interval '5 ms' FROM generate_series(1, 60) n`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT n FROM generate_series(2, 121) n`)
	ids := all[int64](t, conn, `SELECT id FROM rowrun.task_run ORDER BY random()`)
	moved := map[int64]bool{}
	var editing sync.WaitGroup
	var failed error
	editing.Go(func() {
		for i, id := range ids {
			if i%3 == 2 { // leave some
				continue
			}
			_, failed = user.Exec(t.Context(), `UPDATE rowrun.task_run SET run_at = now() + interval '1 day', priority = 7, input = '{"edited": true}' WHERE id = $1`, id)
			switch {
			case failed == nil:
				moved[id] = true
			case store.SQLState(failed) == "RR003": // it has been claimed
				failed = nil
			default:
				return
			}
		}
	})
	started := map[int64]store.Claim{}
	quiet := time.Now()
	for time.Since(quiet) < 500*time.Millisecond {
		pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 5})
		require.NoError(t, err)
		if pass.Promoted > len(pass.Claims) {
			more, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Want: 50})
			require.NoError(t, err)
			pass.Claims = append(pass.Claims, more.Claims...)
		}
		var endings []store.Ending
		for _, c := range pass.Claims {
			started[c.ID] = c
			endings = append(endings, endingOf(c))
			quiet = time.Now()
		}
		if len(endings) > 0 {
			_, _, err = s.EndRuns(t.Context(), endings, time.Second)
			require.NoError(t, err)
		}
	}
	editing.Wait()
	require.NoError(t, failed)
	require.Greater(t, len(started), 20)
	require.NotEmpty(t, moved)
	for id, c := range started {
		if moved[id] { // AVAILABLE by then, where no slot was left: it goes on with what was edited
			require.JSONEq(t, `{"edited": true}`, string(c.Payload))
			require.True(t, query[bool](t, conn, `SELECT prev_status IS DISTINCT FROM 'PENDING' AND available_at < started_at FROM rowrun.task_run WHERE id = $1`, id))
		} else {
			require.JSONEq(t, `{}`, string(c.Payload))
		}
	}
}

// From PENDING to RUNNING nobody goes by hand, however complete; what a replica writes is complete, or refused.
func TestOnlyAPassGoesFromPendingToRunning(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, tryUpdate)
	run := newRun(t, conn, query[int64](t, conn, `INSERT INTO rowrun.task (type, database_id) VALUES ('NOOP', 'db') RETURNING id`))
	complete := []string{
		"prev_status = 'PENDING'", "updated_at = updated_at + interval '1 s'", "available_at = now()", "started_at = now()",
		"replica_id = 'r'", `claim_hash = sha256('x')`, "edited_directly = NULL", "cause = NULL", "judge_at = NULL",
	}
	try := func(who string, set []string) string {
		return query[string](t, conn, `SELECT pg_temp.try($1, $2, $3)`, who, run,
			fmt.Sprintf("UPDATE rowrun.task_run SET status = 'RUNNING', %s WHERE id = %d", strings.Join(set, ", "), run))
	}
	for _, who := range []string{"rowrun_operator", "rowrun_author", "rowrun_client", "rowrun_viewer"} {
		require.Equal(t, "42501", try(who, complete), who)
		require.Equal(t, "42501", try(who, complete[4:5]), who)
	}
	for _, who := range []string{"postgres", "rowrun_replica"} {
		require.Equal(t, "RUNNING", try(who, complete))
		for missing := range 6 {
			require.Equal(t, "RR001", try(who, slices.Delete(slices.Clone(complete), missing, missing+1)), complete[missing])
		}
		for i, other := range []string{
			"prev_status = 'AVAILABLE'", "updated_at = created_at", "available_at = now() + interval '1 hour'", "started_at = now() - interval '1 hour'",
			"replica_id = ''", `claim_hash = '\x00'`,
		} {
			set := slices.Clone(complete)
			set[i] = other
			require.Equal(t, "RR001", try(who, set), other)
		}
	}
}

// AVAILABLE runs are claimed first. What the same trip promotes takes the slots that are left, in one version of its row; the
// rest is AVAILABLE, and the trip says so.
func TestWhatATripPromotesTakesTheSlotsThatItsSearchLeaves(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, type) SELECT n, 'NOOP' FROM generate_series(1, 3) n`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, version) SELECT n, 'NOOP', 'db' || n, '1' FROM generate_series(4, 7) n`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, priority) SELECT n, 10 - n FROM generate_series(1, 7) n`)
	l := newListener(t, url)
	trip := store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimAnyAndFresh, Want: 5}
	for _, c := range []struct {
		want                         int
		claimed                      []int64
		promoted, unclaimed, version int // version: how many of the claimed have one version
	}{
		{want: 5, claimed: []int64{1, 2, 3, 4, 5}, promoted: 4, unclaimed: 2, version: 2},
		{want: 1, claimed: []int64{6}},
		{want: 5, claimed: []int64{7}},
		{want: 5},
	} {
		trip.Want = c.want
		round, err := s.Work(t.Context(), trip)
		require.NoError(t, err)
		var tasks []int64
		for _, claim := range round.Claims {
			tasks = append(tasks, claim.TaskID)
		}
		require.Equal(t, c.claimed, tasks)
		require.Equal(t, c.promoted, round.Promoted)
		require.Equal(t, c.unclaimed, round.Unclaimed)
		require.Equal(t, c.unclaimed > 0, round.Gated)
		require.Equal(t, c.version, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING' AND prev_status = 'PENDING'`))
		for _, claim := range round.Claims {
			ended, _, err := s.EndRuns(t.Context(), []store.Ending{endingOf(claim)}, time.Second)
			require.NoError(t, err)
			require.Len(t, ended, 1, "its claim holds")
		}
	}
	require.Equal(t, 7*3, strings.Count(strings.Join(l.heard(t), ""), `"run_id"`), "AVAILABLE, RUNNING and DONE of each")
}
