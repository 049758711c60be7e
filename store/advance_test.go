package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// An end has the next run of its database started at once where that is simple, leaves a mark where it isn't, and
// neither where nothing waits for it.
func TestAnEndAdvancesItsDatabase(t *testing.T) {
	t.Parallel()
	// A run that one transaction inserts behind another is held by that before anything else was asked of it.
	quietly := func(sql string) string {
		return `SET session_replication_role = replica; ` + sql + `; RESET session_replication_role`
	}
	one, marked := store.Opened{Promoted: 1}, store.Opened{Marked: true}
	insert := func(tasks ...int) string {
		return fmt.Sprintf(`INSERT INTO rowrun.task_run (task_id) SELECT unnest('%s'::bigint[]);`,
			strings.NewReplacer("[", "{", "]", "}", " ", ",").Replace(fmt.Sprint(tasks)))
	}
	for name, c := range map[string]struct {
		before string // beside the run that ends, of version 1
		insert string // while it is RUNNING
		last   string // after that was judged
		want   store.Opened
		then   string // how task 2's run stands
	}{
		"the next version":                   {insert: insert(3, 2), want: one, then: "AVAILABLE"},
		"nobody":                             {insert: insert(20)},
		"a sequential one":                   {insert: insert(3, 4), want: one},
		"the first of sequential ones":       {insert: insert(5, 5), want: one},
		"two of one version":                 {insert: insert(2, 2), want: marked, then: "PENDING"},
		"one without a version":              {insert: insert(2, 5), want: marked, then: "PENDING"},
		"a plan's":                           {insert: insert(6), want: marked},
		"later":                              {insert: insert(2), last: `UPDATE rowrun.task_run SET run_at = now() + interval '1 day' WHERE task_id = 2`, want: marked, then: "PENDING"},
		"paused":                             {insert: insert(2), last: `UPDATE rowrun.task SET paused = true WHERE id = 2`, want: marked, then: "PENDING"},
		"skipped":                            {insert: insert(2), last: `UPDATE rowrun.task SET skipped = true WHERE id = 2`, then: "CANCELED"},
		"skipped before it came":             {insert: insert(2), last: quietly(`UPDATE rowrun.task SET skipped = true WHERE id = 2`), want: marked, then: "PENDING"},
		"of a tick that is missed":           {insert: insert(2), last: quietly(`UPDATE rowrun.task_run SET tick = now(), missed_at = now() WHERE task_id = 2`), want: marked, then: "PENDING"},
		"never judged":                       {last: insert(2), want: marked, then: "PENDING"},
		"of a type that nobody runs":         {insert: insert(2), last: `UPDATE rowrun.replica_heartbeat SET types = '{HTTP}'`, want: marked, then: "PENDING"},
		"of a target nobody has":             {insert: insert(8), last: `UPDATE rowrun.replica_heartbeat SET types = '{SQL}', databases = '{b}'`, want: marked},
		"of a target somebody has":           {insert: insert(8), last: `UPDATE rowrun.replica_heartbeat SET types = '{SQL}', databases = '{b,a}'`, want: one},
		"of a command nobody has":            {insert: insert(9), last: `UPDATE rowrun.replica_heartbeat SET types = '{COMMAND}', commands = '{other}'`, want: marked},
		"of a command somebody has":          {insert: insert(9), last: `UPDATE rowrun.replica_heartbeat SET types = '{COMMAND}', commands = '{report}'`, want: one},
		"of a queue that nobody serves":      {insert: insert(2), last: `UPDATE rowrun.replica_heartbeat SET queues = '{other}'`, want: marked, then: "PENDING"},
		"while no replica is left":           {insert: insert(2), last: `UPDATE rowrun.replica_heartbeat SET last_heartbeat = now() - interval '1 day'`, want: marked, then: "PENDING"},
		"behind another that is active":      {before: insert(1), insert: insert(2), then: "PENDING"},
		"beside one without a version":       {before: insert(7), insert: insert(2, 4), want: marked},
		"behind another, beside one without": {before: insert(1), insert: insert(5, 2), want: marked, then: "PENDING"},
		"sequential, another is active":      {before: insert(1), insert: insert(5), want: marked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, s := connect(t, url), open(t, url, time.Minute)
			addReplica(t, conn, "r")
			exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1);
INSERT INTO rowrun.task (id, plan_id, type, database_id, version, sequential) VALUES
    (1, NULL, 'NOOP', 'a', '1', false), (2, NULL, 'NOOP', 'a', '2', false), (3, NULL, 'NOOP', 'a', '3', false), (4, NULL, 'NOOP', 'a', '2', true),
    (5, NULL, 'NOOP', 'a', NULL, true), (6, 1, 'NOOP', 'a', '2', false), (7, NULL, 'NOOP', 'a', NULL, false), (20, NULL, 'NOOP', 'b', '2', false);
INSERT INTO rowrun.task (id, type, payload, database_id, version, sequential) VALUES
    (8, 'SQL', '{"sql": "SELECT 1"}', 'a', '2', false), (9, 'COMMAND', '{"command": "report"}', 'a', '2', false);
INSERT INTO rowrun.task_run (task_id) VALUES (1);`+c.before)
			pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 10})
			require.NoError(t, err)
			ending := endingOf(pass.Claims[0])
			exec(t, conn, c.insert)
			for more := true; more; { // whatever comes is judged, and waits for the end
				more = query[bool](t, conn, `SELECT more FROM rowrun.promote_runs()`)
			}
			require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE' AND database_id = 'a'`))
			exec(t, conn, c.last)
			exec(t, conn, `DELETE FROM rowrun.gate_mark`)

			ended, opened, err := s.EndRuns(t.Context(), []store.Ending{ending}, time.Second)
			require.NoError(t, err)
			require.Equal(t, []store.Ended{{ID: ending.ID, Status: "DONE"}}, untimed(ended))
			require.Equal(t, c.want, opened)
			if c.then != "" {
				require.Equal(t, c.then, query[string](t, conn, `SELECT min(status) FROM rowrun.task_run WHERE task_id = 2`), "of version 2")
			}
			require.Equal(t, c.want.Promoted, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE' AND database_id = 'a'`))
			require.Equal(t, c.want.Marked, query[bool](t, conn, `SELECT count(*) > 0 FROM rowrun.gate_mark WHERE kind = 'DATABASE' AND database_id = 'a'`))
			if !c.want.Marked {
				require.Zero(t, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs(true)`), "a sweep finds what the end has left")
			}
		})
	}
}

// Where others are promoting, an end waits for them for a moment; then it leaves a mark.
func TestAnEndWaitsForThePassesOfOthers(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s, other := connect(t, url), open(t, url, time.Minute), connect(t, url)
	chains(t, conn)
	first := startChains(t, s)
	exec(t, other, `BEGIN; SELECT FROM rowrun.promotion_lock FOR UPDATE`)
	_, opened, err := s.EndRuns(t.Context(), []store.Ending{first[1]}, time.Second)
	require.NoError(t, err)
	require.Equal(t, store.Opened{Marked: true}, opened)
	require.Equal(t, "PENDING", runStatuses(t, conn)[1])
	exec(t, other, `COMMIT`)
	require.Equal(t, 1, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`))

	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, version) SELECT n, 'NOOP', 'db', n::text FROM generate_series(6, 40) n`)
	exec(t, conn, `INSERT INTO rowrun.task_run (id, task_id) SELECT n, n FROM generate_series(6, 40) n`)
	for range 30 { // the server may be too busy to see in time that the lock goes
		pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 1})
		require.NoError(t, err)
		require.Len(t, pass.Claims, 1)
		exec(t, other, `BEGIN; SELECT FROM rowrun.promotion_lock FOR UPDATE`)
		var over atomic.Bool
		released := make(chan error, 1)
		go func() {
			for waits := false; !waits && !over.Load(); {
				if err := conn.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted
					AND a.datname = current_database()`).Scan(&waits); err != nil {
					released <- err
					return
				}
			}
			_, err := other.Exec(t.Context(), `COMMIT`)
			released <- err
		}()
		_, opened, err = s.EndRuns(t.Context(), []store.Ending{endingOf(pass.Claims[0])}, time.Second)
		over.Store(true)
		require.NoError(t, err)
		require.NoError(t, <-released)
		if opened.Promoted == 1 {
			return
		}
	}
	require.Fail(t, "no end has waited for the lock")
}

// What somebody is just changing is left to a pass.
func TestAnEndPassesByARowThatAUserHolds(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s, user := connect(t, url), open(t, url, time.Minute), connect(t, url)
	chains(t, conn)
	first := startChains(t, s)
	exec(t, user, `BEGIN; UPDATE rowrun.task_run SET run_at = now() + interval '1 day' WHERE id = 2`)
	_, opened, err := s.EndRuns(t.Context(), []store.Ending{first[1]}, time.Second)
	require.NoError(t, err)
	require.Equal(t, store.Opened{Marked: true}, opened)
	exec(t, user, `COMMIT`)
	require.Zero(t, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`))
	require.Equal(t, "PENDING", runStatuses(t, conn)[1])
}

// Marks that an end before has left are not forgotten for the ends that come with them.
func TestAnEndThatAdvancesForgetsNoMark(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, version) VALUES (1, 'NOOP', 'a', '1'), (2, 'NOOP', 'a', '2'), (3, 'NOOP', 'b', '1'), (4, 'NOOP', 'b', '2')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1), (2), (2), (3), (4)`)
	pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 10})
	require.NoError(t, err)
	require.Len(t, pass.Claims, 2)
	byTask := map[int64]store.Ending{}
	for _, c := range pass.Claims {
		byTask[c.TaskID] = endingOf(c)
	}
	round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{byTask[1]}, LockTimeout: time.Second, Claim: store.ClaimFresh, Want: 10})
	require.NoError(t, err)
	require.True(t, round.Marked, "two of one version")
	require.Empty(t, round.Claims)
	round, err = s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{byTask[3]}, LockTimeout: time.Second, Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 10})
	require.NoError(t, err)
	require.Equal(t, 3, round.Promoted)
	require.Len(t, round.Claims, 3)
	require.False(t, round.Marked)
}

// Whatever runs there are, an end that advances its database, and the passes that its marks ask for, let start what
// marks and passes alone would.
func TestAdvancingIsAPassInShort(t *testing.T) {
	t.Parallel()
	seed := uint64(storetest.Seed(t))
	var advanced atomic.Int64
	t.Cleanup(func() {
		if advanced.Load() == 0 {
			t.Error("nothing was advanced")
		}
	})
	for i := range storetest.Count(4, 60) {
		t.Run(fmt.Sprintf("seed=%d", int64(seed)+int64(i)), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed+uint64(i), 0)) //nolint:gosec // not a secret
			url := storetest.New(t)
			conn, s := connect(t, url), open(t, url, time.Minute)
			addReplica(t, conn, "r")
			exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1)`)
			for range 16 {
				version := any(fmt.Sprint(1 + rnd.IntN(6)))
				if rnd.IntN(8) == 0 {
					version = nil
				}
				plan := any(nil)
				if rnd.IntN(6) == 0 {
					plan = 1
				}
				exec(t, conn, `INSERT INTO rowrun.task (plan_id, type, database_id, version, sequential) VALUES ($1, 'NOOP', $2, $3, $4)`,
					plan, string("ab"[rnd.IntN(2)]), version, rnd.IntN(3) == 0)
			}
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
			for range 80 {
				switch rnd.IntN(8) {
				case 0, 1, 2:
					exec(t, conn, `INSERT INTO rowrun.task_run (task_id, priority)
						SELECT k.id, $1 FROM rowrun.task k WHERE NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = k.id AND r.plan_id IS NOT NULL AND r.finished_at IS NULL)
						ORDER BY random() LIMIT $2`, rnd.IntN(3), 1+rnd.IntN(3))
				case 3:
					exec(t, conn, `UPDATE rowrun.task SET paused = NOT paused WHERE id = 1 + $1`, rnd.IntN(16))
				case 4:
					exec(t, conn, `UPDATE rowrun.task_run SET run_at = now() + $1 * interval '1 day', priority = $2
						WHERE id = (SELECT max(id) FROM rowrun.task_run WHERE status = 'PENDING')`, rnd.IntN(2), rnd.IntN(3))
				}
				promote(false)
				pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Want: 1 + rnd.IntN(6)})
				require.NoError(t, err)
				for _, c := range pass.Claims {
					active[c.ID] = endingOf(c)
				}
				var batch []store.Ending
				ids := []int64{}
				for id, e := range active {
					if rnd.IntN(3) > 0 {
						batch, ids = append(batch, e), append(ids, id)
						delete(active, id)
					}
				}
				if len(batch) == 0 {
					continue
				}
				exec(t, conn, `BEGIN`)
				exec(t, conn, `SELECT rowrun.end_runs($1, array_fill(NULL::uuid, ARRAY[$2::int]), array_fill('DONE'::text, ARRAY[$2::int]),
					array_fill('{}'::jsonb, ARRAY[$2::int]), array_fill('NONE'::text, ARRAY[$2::int]))`, ids, len(ids))
				promote(false)
				want := standing(t, conn)
				exec(t, conn, `ROLLBACK`)

				before := query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`)
				_, opened, err := s.EndRuns(t.Context(), batch, time.Second)
				require.NoError(t, err)
				require.Equal(t, before+opened.Promoted, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`))
				advanced.Add(int64(opened.Promoted))
				promote(false)
				require.Equal(t, want, standing(t, conn))
				require.Zero(t, promote(true), "a sweep finds what was forgotten")
			}
		})
	}
}

// endingOf is how a claimed run ends well.
func endingOf(c store.Claim) store.Ending {
	e := store.Ending{ID: c.ID, Claim: c.Claim, Database: c.DatabaseID}
	if c.PlanID != nil {
		e.PlanTask = c.TaskID
	}
	return e
}

// standing is where each run stands.
func standing(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	return query[[]string](t, conn, `SELECT array_agg(r.id || ' ' || r.status ORDER BY r.id) FROM rowrun.task_run r`)
}
