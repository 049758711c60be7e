package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// On full and analyzed tables every statement of a replica's round finds its rows by an index, sorts few of them, and
// touches no more than twice the pages that it touches where there are few rows.
func TestEveryStatementOfARoundUsesIndexes(t *testing.T) {
	t.Parallel()
	log := &storetest.Log{}
	// Pages that a vacuum has cleaned in one of the two databases would be compared with pages that it hasn't in the other.
	cluster, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Log: log, Settings: map[string]string{"autovacuum": "off"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	insertsOfAPlan(t, log, storetest.On(t, cluster))
	few := aRound(t, log, storetest.On(t, cluster), 10_000, 1000)
	ended := storetest.Count(150_000, 1_000_000)
	many := aRound(t, log, storetest.On(t, cluster), ended, 20_000)
	for _, name := range []string{
		"promote", "promote_and_claim", "claim_runs", "claim_run", "claim_runs_bounded", "begin_round", "end_plain_runs", "end_plain_run", "end_runs", "promote_next_version", "promote_next_and_claim",
		"dead_replicas", "declare_dead", "stale_runs", "end_stale_runs", "overdue_runs", "end_overdue_runs",
		"retention_window", "lock_old_chains", "remove_chains", "remove_earlier_runs", "lock_early_runs",
	} {
		require.Contains(t, many.names, name, "its plan was not looked at")
	}
	for what, pages := range many.pages {
		t.Logf("%s: %d pages beside 10,000 ended and 1,000 blocked, %d beside %d and 20,000", what, few.pages[what], pages, ended)
		require.LessOrEqual(t, pages, 2*few.pages[what]+10, "pages of %q grow with the table", what)
	}
}

// insertsOfAPlan inserts the runs of a plan where statistics show that nothing is unfinished: each reads a few others, and not all
// that its statement has inserted before.
func insertsOfAPlan(t *testing.T, log *storetest.Log, url string) {
	t.Helper()
	conn := connect(t, url)
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica;
INSERT INTO rowrun.task (id, type, sequential) VALUES (1, 'NOOP', false);
INSERT INTO rowrun.task_run (task_id, root_id, status, priority, creator, type, queue, sequential, finished_at)
SELECT 1, n, 'DONE', 0, 'x', 'NOOP', 'default', false, now() FROM generate_series(1, 5000) n;
COMMIT;
INSERT INTO rowrun.plan (id) VALUES (1);
INSERT INTO rowrun.task (id, plan_id, type) SELECT 1 + n, 1, 'NOOP' FROM generate_series(1, 1000) n`)
	exec(t, conn, `VACUUM ANALYZE rowrun.task, rowrun.task_run`)
	e := explain(t, log, url)
	e.check(t, "INSERT of a plan's runs", 10_000, func() {
		exec(t, e.conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE plan_id = 1 ORDER BY id`)
	})
}

// aRound does what replicas do, twice over where a connection has plans to make first.
func aRound(t *testing.T, log *storetest.Log, url string, ended, blocked int) *explained {
	t.Helper()
	fillForExplain(t, connect(t, url), ended, blocked)
	e := explain(t, log, url)
	s := open(t, url, time.Minute)
	x := &explainedRound{t: t, e: e, s: s}

	e.check(t, "promote and claim at start", 3*blocked+3000, func() { x.work(store.PromoteSweep) }) // marks of the filling
	for len(x.gated) < 2 || len(x.versions) == 0 || len(x.tasks) == 0 {
		x.work(store.PromoteDue)
	}
	for range 3 {
		x.free()
		x.chain()
		x.advance()
		x.task()
		x.failure()
		x.lost()
	}
	e.check(t, "a sweep", 1000, func() { x.work(store.PromoteSweep) })
	e.check(t, "a sweep", 1000, func() { x.work(store.PromoteSweep) })
	x.pinned(url)
	for range 2 { // the first reads the catalog
		e.check(t, "watch", 50, func() {
			_, err := s.Watch(t.Context(), "r", []store.Watched{{ID: x.gated[0].ID, Claim: x.gated[0].Claim}})
			require.NoError(t, err)
		})
		e.check(t, "survey", 50, func() {
			seen, err := s.Survey(t.Context(), "r", noop(), store.SurveyAll)
			require.NoError(t, err)
			require.True(t, seen.Work, "versions wait for a database")
		})
		e.check(t, "survey of its own", 50, func() {
			_, err := s.Survey(t.Context(), "r", noop(), store.SurveyOwn)
			require.NoError(t, err)
		})
	}
	e.check(t, "retention", 25_000, func() { // a window of 5,000, and the look at the next
		gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 720 * time.Hour}, nil)
		require.NoError(t, err)
		require.Equal(t, int64(1003), gone.Runs)
	})
	return e
}

// explainedRound is a replica, step by step. gated are its runs of the plan's two long rows of versions, versions that of the row
// without a plan, tasks that of the plan whose tasks wait for each other.
type explainedRound struct {
	t                      *testing.T
	e                      *explained
	s                      *store.Store
	gated, versions, tasks []store.Claim
}

func (x *explainedRound) work(promote store.Promotion) {
	pass, err := x.s.Work(x.t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: promote, Want: 10})
	require.NoError(x.t, err)
	for _, c := range pass.Claims {
		switch {
		case c.PlanID == nil:
			x.versions = append(x.versions, c)
		case c.DatabaseID == "":
			x.tasks = append(x.tasks, c)
		default:
			x.gated = append(x.gated, c)
		}
	}
}

// free inserts runs without gates, starts them in both ways and ends them.
func (x *explainedRound) free() {
	t := x.t
	insert := func() { exec(t, x.e.conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`) }
	x.e.check(t, "INSERT without a plan", 10, insert)
	var claims []store.Claim
	x.e.check(t, "start what was inserted", 30, func() {
		pass, err := x.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 10})
		require.NoError(t, err)
		claims = pass.Claims
		require.Len(t, claims, 1)
	})
	x.e.check(t, "end, plain", 10, func() {
		ended, _, err := x.s.EndRuns(t.Context(), []store.Ending{{ID: claims[0].ID, Claim: claims[0].Claim}}, time.Second)
		require.NoError(t, err)
		require.Len(t, ended, 1)
	})
	exec(t, x.e.conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1), (1)`)
	pass, err := x.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 1})
	require.NoError(t, err)
	claims = pass.Claims
	x.e.check(t, "end and start, plain", 30, func() {
		ending := store.Ending{ID: claims[0].ID, Claim: claims[0].Claim}
		round, err := x.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{ending}, LockTimeout: time.Second, Promote: store.PromoteDue, Want: 10})
		require.NoError(t, err)
		require.Len(t, round.Ended, 1)
		claims = round.Claims
		require.Len(t, claims, 1)
	})
	insert()
	x.e.check(t, "start with slots that are reserved", 40, func() {
		pass, err = x.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Want: 2, Below: []store.Below{{Priority: 50, Most: 1}}})
		require.NoError(t, err)
	})
	require.Len(t, pass.Claims, 1)
	exec(t, x.e.conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1), (1), (1)`)
	bound := noop()
	bound.Rooms = map[string]store.Room{"NOOP": {Most: 2}}
	x.e.check(t, "start what there is room for", 40, func() {
		pass, err := x.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: bound, Want: 10})
		require.NoError(t, err)
		require.Len(t, pass.Claims, 2)
		require.False(t, pass.Contended)
		for i := range pass.Claims {
			_, _, err := x.s.EndRuns(t.Context(), []store.Ending{endingOf(pass.Claims[i])}, time.Second)
			require.NoError(t, err)
		}
	})
	pass, err = x.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Want: 2})
	require.NoError(t, err)
	claims = append(claims, pass.Claims...)
	x.e.check(t, "end two, plain", 20, func() {
		ended, _, err := x.s.EndRuns(t.Context(), []store.Ending{endingOf(claims[0]), endingOf(claims[1])}, time.Second)
		require.NoError(t, err)
		require.Len(t, ended, 2)
	})
}

// chain ends one version, which opens the next; behind it everything else is blocked.
func (x *explainedRound) chain() {
	t := x.t
	next := func() store.Ending {
		c := x.gated[0]
		x.gated = x.gated[1:]
		return store.Ending{ID: c.ID, Claim: c.Claim, PlanTask: c.TaskID}
	}
	for name, start := range map[string]func(){
		"promote and claim the next, with a search": func() { x.work(store.PromoteDue) },
		"promote and claim the next": func() {
			pass, err := x.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 10})
			require.NoError(t, err)
			x.gated = append(x.gated, pass.Claims...)
		},
	} {
		x.e.check(t, "end, of a plan and a database", 60, func() {
			ended, _, err := x.s.EndRuns(t.Context(), []store.Ending{next()}, time.Second)
			require.NoError(t, err)
			require.Len(t, ended, 1)
		})
		before := len(x.gated)
		x.e.check(t, name, 200, start)
		require.Len(t, x.gated, before+1)
	}
	x.e.check(t, "end and start the next", 250, func() {
		round, err := x.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: []store.Ending{next()}, LockTimeout: time.Second, Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: 10})
		require.NoError(t, err)
		require.Len(t, round.Claims, 1)
		x.gated = append(x.gated, round.Claims...)
	})
	x.e.check(t, "INSERT into a plan", 60, func() {
		exec(t, x.e.conn, `WITH k AS (INSERT INTO rowrun.task (plan_id, type, queue) VALUES (1, 'NOOP', 'nobody serves it') RETURNING id)
			INSERT INTO rowrun.task_run (task_id, run_at) SELECT id, now() + interval '1 day' FROM k`)
	})
}

// advance ends versions without a plan, each of which has the next promoted at once.
func (x *explainedRound) advance() {
	t := x.t
	next := func() []store.Ending {
		c := x.versions[0]
		x.versions = x.versions[1:]
		return []store.Ending{endingOf(c)}
	}
	x.e.check(t, "end a version", 30, func() {
		_, opened, err := x.s.EndRuns(t.Context(), next(), time.Second)
		require.NoError(t, err)
		require.Equal(t, store.Opened{Promoted: 1}, opened)
	})
	x.work(store.PromoteNothing)
	x.e.check(t, "end a version and start the next", 40, func() {
		round, err := x.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Endings: next(), LockTimeout: time.Second, Claim: store.ClaimFresh, Want: 10})
		require.NoError(t, err)
		require.Len(t, round.Claims, 1)
		require.False(t, round.Marked)
		x.versions = append(x.versions, round.Claims...)
	})
}

// task ends a task for which one other waits, in a plan in which all others wait too.
func (x *explainedRound) task() {
	t := x.t
	c := x.tasks[0]
	x.tasks = x.tasks[1:]
	x.e.check(t, "end a task that another waits for", 60, func() {
		_, _, err := x.s.EndRuns(t.Context(), []store.Ending{endingOf(c)}, time.Second)
		require.NoError(t, err)
	})
	x.e.check(t, "promote and claim the task that waited", 200, func() { x.work(store.PromoteDue) })
	require.Len(t, x.tasks, 1)
}

// failure ends a run FAILED, with a successor.
func (x *explainedRound) failure() {
	t := x.t
	exec(t, x.e.conn, `INSERT INTO rowrun.task_run (task_id) VALUES (500001)`)
	pass, err := x.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 10})
	require.NoError(t, err)
	require.Len(t, pass.Claims, 1)
	x.e.check(t, "end, failed", 60, func() {
		ended, _, err := x.s.EndRuns(t.Context(), []store.Ending{{
			ID: pass.Claims[0].ID, Claim: pass.Claims[0].Claim, Failed: true, Retry: store.RetryFailure, Result: []byte(`{"code": "ERROR"}`),
		}}, time.Second)
		require.NoError(t, err)
		require.NotNil(t, ended[0].RetryRunID)
	})
}

// lost has a replica die with a run, and a run that the app took over be overdue.
func (x *explainedRound) lost() {
	t := x.t
	exec(t, x.e.conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, concurrency)
		VALUES ('gone', clock_timestamp(), '1 hour', '{NOOP}', 1) ON CONFLICT (replica_id) DO UPDATE SET state = 'ACTIVE', last_heartbeat = excluded.last_heartbeat`)
	exec(t, x.e.conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	pass, err := x.s.Work(t.Context(), store.Trip{Replica: "gone", Capabilities: noop(), Promote: store.PromoteDue, Want: 1})
	require.NoError(t, err)
	require.Len(t, pass.Claims, 1)
	exec(t, x.e.conn, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = clock_timestamp() - interval '2 hours' WHERE replica_id = 'gone'`)
	x.e.check(t, "dead replicas", 60, func() {
		dead, err := x.s.DeadReplicas(t.Context(), 24*time.Hour)
		require.NoError(t, err)
		require.Equal(t, []string{"gone"}, dead)
		ended, err := x.s.EndDeadReplica(t.Context(), "gone")
		require.NoError(t, err)
		require.Len(t, ended, 1)
	})
	exec(t, x.e.conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	pass, err = x.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 1})
	require.NoError(t, err)
	require.Len(t, pass.Claims, 1)
	handed, err := x.s.HandOver(t.Context(), pass.Claims[0].ID, pass.Claims[0].Claim)
	require.NoError(t, err)
	require.True(t, handed)
	exec(t, x.e.conn, `UPDATE rowrun.task_run SET deadline = now() - interval '1 hour' WHERE id = $1`, pass.Claims[0].ID)
	x.e.check(t, "overdue runs", 60, func() {
		ended, err := x.s.EndOverdue(t.Context(), store.Contact{For: time.Hour})
		require.NoError(t, err)
		require.Len(t, ended, 1)
	})
}

// pinned has runs go through while a snapshot is held open, so that what they leave behind in the indexes stays there.
func (x *explainedRound) pinned(url string) {
	t := x.t
	held := connect(t, url)
	exec(t, held, `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM rowrun.plan`)
	defer exec(t, held, `ROLLBACK`)
	var last int64
	through := func(w store.Capabilities, n int) {
		pass, err := x.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: w, Promote: store.PromoteDue, Want: n})
		require.NoError(t, err)
		require.Len(t, pass.Claims, n)
		last = pass.Claims[n-1].ID
		endings := make([]store.Ending, n)
		for i, c := range pass.Claims {
			endings[i] = endingOf(c)
		}
		_, _, err = x.s.EndRuns(t.Context(), endings, time.Second)
		require.NoError(t, err)
	}
	for range 10 {
		exec(t, x.e.conn, `INSERT INTO rowrun.task_run (task_id) SELECT 1 FROM generate_series(1, 1000)`)
		through(noop(), 1000)
	}
	w := noop()
	for range 2 { // a connection has plans to make first
		exec(t, x.e.conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
		w.Cursor = store.SlowCursor(last, time.Now(), time.Hour)
		x.e.check(t, "start with a search behind what a snapshot keeps", 60, func() { through(w, 1) })
	}
	exec(t, x.e.conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	x.e.check(t, "the same from the first run", 60, func() { through(noop(), 1) })
	pages := x.e.pages["start with a search behind what a snapshot keeps"]
	require.Greater(t, x.e.pages["the same from the first run"], 3*pages, "the snapshot keeps nothing")
	require.LessOrEqual(t, pages, x.e.pages["start what was inserted"]+x.e.pages["end, plain"]+30)
}

// fillForExplain makes runs that have ended, three databases on which a long row of versions waits for its first, on two of
// them as one plan, and a plan whose tasks wait for each other.
func fillForExplain(t *testing.T, conn *pgx.Conn, ended, blocked int) {
	t.Helper()
	addReplica(t, conn, "r")
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, sequential) VALUES (1, 'NOOP', false)`)
	// The first thousand are old enough for retention.
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, root_id, status, priority, creator, type, queue, sequential, created_at, finished_at)
		SELECT 1, n, CASE n % 10 WHEN 0 THEN 'FAILED' ELSE 'DONE' END, 0, 'x', 'NOOP', 'default', false, at, at
		FROM generate_series(1, $1::int) n CROSS JOIN LATERAL (SELECT CASE WHEN n <= 1000 THEN now() - interval '60 days' ELSE now() - ($1::int - n) * interval '1 ms' END AS at) w`, ended)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, sequential, retention) VALUES (500000, 'NOOP', false, '1 hour')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, root_id, status, priority, creator, type, queue, sequential, own_retention, finished_at)
		SELECT 500000, n, 'DONE', 0, 'x', 'NOOP', 'default', false, true, now() - (n - 1) * interval '2 hours' FROM generate_series(1, 4) n`)
	exec(t, conn, `COMMIT`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, max_attempts, retry_delay) VALUES (500001, 'NOOP', 5, '1 hour')`)
	exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 10)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type, database_id, version)
		SELECT 1 + n, 1, 'NOOP', 'db' || n % 2, n::text FROM generate_series(1, $1::int) n`, blocked)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, version)
		SELECT 1000000 + n, 'NOOP', 'own', n::text FROM generate_series(1, $1::int) n`, blocked)
	exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (2)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type) SELECT 2000000 + n, 2, 'NOOP' FROM generate_series(1, $1::int) n`, blocked)
	exec(t, conn, `INSERT INTO rowrun.task_dependency (task_id, depends_on_id)
		SELECT 2000000 + n, 2000000 + least(n - 1, 100) FROM generate_series(2, $1::int) n`, blocked)
	exec(t, conn, `SELECT setval(pg_get_serial_sequence('rowrun.task', 'id'), 600000)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE plan_id IS NOT NULL OR database_id = 'own' ORDER BY id`)
	for query[bool](t, conn, `SELECT more FROM rowrun.promote_runs()`) {
		continue
	}
	exec(t, conn, `VACUUM ANALYZE rowrun.task, rowrun.task_dependency, rowrun.task_run, rowrun.gate_mark`)
}
