package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// The end of a plan's run has the next one start in its slot where that is simple, and leaves a mark where it isn't.
func TestAnEndFillsItsPlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		insert string // while two are RUNNING, with the plan's limit of two
		last   string // after that was judged
		failed bool   // how one of them ends
		want   int    // how many are promoted
		marked bool
		next   int64 // the task of which a run is claimed; 0: none
	}{
		"the first that came":      {insert: `(3), (4)`, want: 1, next: 3},
		"the one of most priority": {insert: `(3), (5)`, want: 1, next: 5},
		"nobody":                   {insert: `(9)`, marked: true},
		"behind a failure":         {insert: `(3)`, failed: true, want: 1, next: 3},
		"a raised limit":           {insert: `(3), (4), (5), (8)`, last: `UPDATE rowrun.plan SET parallel_limit = 4 WHERE id = 1; DELETE FROM rowrun.gate_mark`, want: 3, next: 5},
		"a lowered limit":          {insert: `(3)`, last: `UPDATE rowrun.plan SET parallel_limit = 1 WHERE id = 1; DELETE FROM rowrun.gate_mark`, marked: true},
		"a paused plan":            {insert: `(3)`, last: `UPDATE rowrun.plan SET paused = true WHERE id = 1; DELETE FROM rowrun.gate_mark`, marked: true},
		"a paused task":            {insert: `(3), (4)`, last: `UPDATE rowrun.task SET paused = true WHERE id = 3; DELETE FROM rowrun.gate_mark`, marked: true},
		"one that was just unpaused": {insert: `(3)`, last: `UPDATE rowrun.task SET paused = true WHERE id = 4; INSERT INTO rowrun.task_run (task_id) VALUES (4);
			SELECT rowrun.promote_runs(); UPDATE rowrun.task SET paused = false WHERE id = 4`, marked: true},
		"one with a database":                   {insert: `(6), (3)`, marked: true},
		"beside a sequential one of a database": {insert: `(5), (6)`, marked: true},
		"one that shares a database":            {insert: `(10)`, marked: true},
		"one that waits for another":            {insert: `(7), (3)`, want: 1, next: 3},
		"of a type that nobody runs":            {insert: `(3)`, last: `UPDATE rowrun.replica_heartbeat SET types = '{HTTP}'; DELETE FROM rowrun.gate_mark`, marked: true},
		"a round that is over":                  {insert: `(3)`, last: `UPDATE rowrun.plan SET announced_round = round WHERE id = 1`, marked: true},
		"one that has become due": {insert: `(3)`, last: `SET session_replication_role = replica; UPDATE rowrun.task_run SET cause = NULL, judge_at = now() WHERE task_id = 3;
			RESET session_replication_role; INSERT INTO rowrun.task_run (task_id) VALUES (4); DELETE FROM rowrun.gate_mark`, marked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, s := connect(t, url), open(t, url, time.Minute)
			addReplica(t, conn, "r")
			exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit, on_failure) VALUES (1, 2, 'CONTINUE'), (2, 2, 'STOP');
INSERT INTO rowrun.task (id, plan_id, type, database_id, sequential, priority) SELECT n, 1, 'NOOP', CASE n WHEN 6 THEN 'a' END, n = 6, CASE n WHEN 5 THEN 1 ELSE 0 END FROM generate_series(1, 8) n;
INSERT INTO rowrun.task (id, plan_id, type, database_id) VALUES (9, 2, 'NOOP', NULL), (10, 1, 'NOOP', 'a');
INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES (7, 8);
INSERT INTO rowrun.task_run (task_id) VALUES (1), (2)`)
			pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 10})
			require.NoError(t, err)
			require.Len(t, pass.Claims, 2)
			ending := endingOf(pass.Claims[0])
			ending.Failed = c.failed
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES `+c.insert)
			for more := true; more; {
				more = query[bool](t, conn, `SELECT more FROM rowrun.promote_runs()`)
			}
			exec(t, conn, `DELETE FROM rowrun.gate_mark; `+c.last)

			round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{ending}, LockTimeout: time.Second, Claim: store.ClaimFresh, Want: 1})
			require.NoError(t, err)
			require.Len(t, round.Ended, 1)
			require.Equal(t, c.want, round.Promoted)
			require.Equal(t, c.marked, round.Marked)
			if c.next == 0 {
				require.Empty(t, round.Claims)
			} else {
				require.Len(t, round.Claims, 1)
				require.Equal(t, c.next, round.Claims[0].TaskID)
				require.True(t, round.Claims[0].Fresh)
			}
			require.Equal(t, c.marked, query[bool](t, conn, `SELECT EXISTS (SELECT FROM rowrun.gate_mark)`))
			if !c.marked {
				require.Zero(t, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs(true)`), "a sweep finds what the end has left")
			}
		})
	}
}

// What somebody is just changing, and where others promote for long, is left to a pass.
func TestAnEndThatFillsPassesByWhatIsHeld(t *testing.T) {
	t.Parallel()
	for _, held := range []string{`UPDATE rowrun.task_run SET run_at = now() + interval '1 day' WHERE task_id = 2`, `SELECT FROM rowrun.promotion_lock FOR UPDATE`} {
		url := storetest.New(t)
		conn, s, user := connect(t, url), open(t, url, time.Minute), connect(t, url)
		addReplica(t, conn, "r")
		exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1);
INSERT INTO rowrun.task (id, plan_id, type) VALUES (1, 1, 'NOOP'), (2, 1, 'NOOP');
INSERT INTO rowrun.task_run (task_id) VALUES (1), (2)`)
		pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 10})
		require.NoError(t, err)
		require.Len(t, pass.Claims, 1)
		exec(t, user, `BEGIN; `+held)
		round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{endingOf(pass.Claims[0])}, LockTimeout: time.Second, Claim: store.ClaimFresh, Want: 1})
		require.NoError(t, err)
		require.Len(t, round.Ended, 1)
		require.Zero(t, round.Promoted)
		require.True(t, round.Marked)
		require.Empty(t, round.Claims)
		exec(t, user, `COMMIT`)
		require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark WHERE kind = 'PLAN' AND plan_id = 1`))
	}
}

// Whatever runs there are, ends that fill their plans, and the passes that their marks ask for, let start what marks and passes
// alone would.
func TestFillingIsAPassInShort(t *testing.T) {
	t.Parallel()
	seed := uint64(storetest.Seed(t))
	var filled atomic.Int64
	t.Cleanup(func() {
		if filled.Load() == 0 {
			t.Error("nothing was filled")
		}
	})
	for i := range storetest.Count(6, 100) {
		t.Run(fmt.Sprintf("seed=%d", int64(seed)+int64(i)), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed+uint64(i), 0)) //nolint:gosec // not a secret
			url := storetest.New(t)
			conn, s := connect(t, url), open(t, url, time.Minute)
			addReplica(t, conn, "r")
			exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit, on_failure) SELECT n, CASE WHEN n < 4 THEN n END, (ARRAY['CONTINUE', 'STOP'])[1 + n % 2] FROM generate_series(1, 4) n`)
			exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type, max_attempts, retry_delay) SELECT n, 1 + n % 4, 'NOOP', 1 + n % 2, '0' FROM generate_series(1, 24) n`)
			exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type, database_id, version) VALUES (25, 3, 'NOOP', 'a', '1'), (26, 3, 'NOOP', 'a', '2'), (27, NULL, 'NOOP', 'a', '2')`)
			exec(t, conn, `INSERT INTO rowrun.task_dependency (task_id, depends_on_id) SELECT n + 4, n FROM generate_series(1, 20) n WHERE n % 4 <> 1 AND n % 3 = 0`)
			promote := func(sweep bool) (promoted int) {
				for range 20 {
					var n int
					var more bool
					require.NoError(t, conn.QueryRow(t.Context(), `SELECT promoted, more FROM rowrun.promote_runs($1)`, sweep).Scan(&n, &more))
					promoted += n
					if n == 0 && !more {
						return promoted
					}
				}
				return promoted
			}
			active := map[int64]store.Ending{}
			for range 60 {
				switch rnd.IntN(8) {
				case 0, 1, 2, 3:
					exec(t, conn, `INSERT INTO rowrun.task_run (task_id, priority)
						SELECT k.id, $1 FROM rowrun.task k WHERE NOT k.skipped AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = k.id AND r.plan_id IS NOT NULL AND r.finished_at IS NULL)
						ORDER BY random() LIMIT $2`, rnd.IntN(3), 1+rnd.IntN(8))
				case 4:
					exec(t, conn, `UPDATE rowrun.task SET paused = NOT paused WHERE id = 1 + $1`, rnd.IntN(24))
				case 5:
					exec(t, conn, `UPDATE rowrun.task_run SET run_at = now() + $1 * interval '1 day', priority = $2
						WHERE id = (SELECT max(id) FROM rowrun.task_run WHERE status = 'PENDING')`, rnd.IntN(2), rnd.IntN(3))
				case 6:
					exec(t, conn, `UPDATE rowrun.plan SET parallel_limit = $2 WHERE id = 1 + $1 AND id < 4`, rnd.IntN(4), 1+rnd.IntN(4))
				}
				if rnd.IntN(3) > 0 {
					promote(false)
				}
				pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Want: 1 + rnd.IntN(6)})
				require.NoError(t, err)
				for _, c := range pass.Claims {
					active[c.ID] = endingOf(c)
				}
				var batch []store.Ending
				var ids []int64
				var statuses []string
				failing := rnd.IntN(4) == 0
				for _, id := range slices.Sorted(maps.Keys(active)) { // successors draw their ids in this order
					if e := active[id]; rnd.IntN(3) > 0 {
						e.Failed = failing && rnd.IntN(2) == 0
						status := "DONE"
						if e.Failed {
							status, e.Retry = "FAILED", store.RetryFailure
						}
						batch, ids, statuses = append(batch, e), append(ids, id), append(statuses, status)
						delete(active, id)
					}
				}
				if len(batch) == 0 {
					continue
				}
				// What has come on a database, and has had no look yet, comes behind an end that fills, and before what a pass takes.
				unseen := query[bool](t, conn, `SELECT EXISTS (SELECT FROM rowrun.task_run WHERE judge_at <= clock_timestamp() AND num_nonnulls(plan_id, database_id) = 2 AND status = 'PENDING')`)
				exec(t, conn, `BEGIN`)
				exec(t, conn, `SELECT rowrun.end_runs($1, array_fill(NULL::uuid, ARRAY[$2::int]), $3,
					array_fill('{}'::jsonb, ARRAY[$2::int]), array_fill('FAILURE'::text, ARRAY[$2::int]))`, ids, len(ids), statuses)
				promote(false)
				want := furthest(t, conn)
				exec(t, conn, `ROLLBACK`)

				round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: batch, LockTimeout: time.Second, Claim: store.ClaimFresh, Want: rnd.IntN(4)})
				require.NoError(t, err)
				for _, c := range round.Claims {
					active[c.ID] = endingOf(c)
				}
				if !failing {
					filled.Add(int64(round.Promoted))
				}
				promote(false)
				if !unseen {
					require.Equal(t, want, furthest(t, conn))
				}
				const story = `SELECT coalesce(array_agg(concat_ws(' ', 'run', r.id, 'task', r.task_id, 'plan', r.plan_id, r.database_id, r.version, r.status, 'cause', r.cause, 'judge_at', r.judge_at, 'prio', r.priority) ORDER BY r.id), '{}') FROM rowrun.task_run r WHERE r.finished_at IS NULL`
				before := query[[]string](t, conn, story)
				require.Zero(t, promote(true), "a sweep finds what was forgotten\n%s\n%s\nunseen %t, filled %d", strings.Join(before, "\n"), strings.Join(query[[]string](t, conn, story), "\n"), unseen, round.Promoted)
			}
		})
	}
}

// furthest is by task how far its newest run is, AVAILABLE and RUNNING alike: successors have other ids each time.
func furthest(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	return query[[]string](t, conn, `SELECT array_agg(DISTINCT r.task_id || ' ' || r.attempt || ' ' || CASE r.status WHEN 'RUNNING' THEN 'AVAILABLE' ELSE r.status END)
		FROM rowrun.task_run r`)
}
