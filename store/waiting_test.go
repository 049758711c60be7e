package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rowrun/rowrun/store/storetest"
)

// What waiting() tells people is what the promotion does. Runs come and go in random ways, all in one transaction, whose
// runs are made to look like an earlier one's once a pass has seen them;
// after each change the pass is asked to promote, with nothing but the marks to tell it where to look, and in some histories
// to claim what it promotes at once:
//
//   - a run that waited for nothing is promoted, unless one promoted beside it took its database or its plan's slot;
//   - a run that is promoted waited for nothing;
//   - a run that is left PENDING waits for something.
func TestWaitingAndPromotionAgree(t *testing.T) {
	t.Parallel()
	storetest.CheckWith(t, 100, 20_000, func(t *testing.T) func(*rapid.T) {
		conn := connect(t, storetest.New(t))
		// created_at is the model's to change (seen). With a session's role instead all plans were made anew.
		exec(t, conn, `CREATE OR REPLACE TRIGGER task_run_fixed BEFORE UPDATE OF run_at, priority, input ON rowrun.task_run
			FOR EACH ROW EXECUTE FUNCTION rowrun.task_run_fixed()`)
		promoted, claimed := 0, 0
		t.Cleanup(func() {
			t.Logf("%d promotions, %d of them with their claims", promoted, claimed)
			if !t.Failed() && promoted > 50 {
				require.Equal(t, !storetest.TwoSteps(t, false), claimed > 0, "promoted and claimed at once")
			}
		})
		return func(rt *rapid.T) {
			tx, err := conn.Begin(t.Context())
			require.NoError(rt, err)
			defer func() { require.NoError(rt, tx.Rollback(context.WithoutCancel(t.Context()))) }()
			m := &model{t: rt, ctx: t.Context(), conn: conn, twoSteps: storetest.TwoSteps(t, rapid.Bool().Draw(rt, "two steps"))}
			m.begin()
			for range rapid.IntRange(1, 10).Draw(rt, "changes") {
				for range rapid.IntRange(1, 4).Draw(rt, "at once") {
					m.change()
				}
				m.promoteAndCompare()
			}
			promoted, claimed = promoted+m.promoted, claimed+m.claimed
		}
	})
}

// model makes random changes. What the database refuses is no change.
type model struct {
	t     *rapid.T
	ctx   context.Context
	conn  *pgx.Conn
	plans []int64
	tasks []int64
	// twoSteps: nothing is claimed by the pass that promotes it.
	twoSteps          bool
	promoted, claimed int
}

func (m *model) ids(sql string, args ...any) []int64 {
	rows, err := m.conn.Query(m.ctx, sql, args...)
	require.NoError(m.t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(m.t, err, sql)
	return ids
}

// try runs a statement in a savepoint.
func (m *model) try(sql string, args ...any) {
	_, err := m.conn.Exec(m.ctx, "SAVEPOINT one")
	require.NoError(m.t, err)
	if _, err = m.conn.Exec(m.ctx, sql, args...); err != nil {
		require.Regexp(m.t, `SQLSTATE (RR00\d|23505)`, err.Error(), sql)
		_, err = m.conn.Exec(m.ctx, "ROLLBACK TO one")
		require.NoError(m.t, err)
	}
	_, err = m.conn.Exec(m.ctx, "RELEASE one")
	require.NoError(m.t, err)
}

func draw[T any](m *model, label string, of ...T) T { return rapid.SampledFrom(of).Draw(m.t, label) }

func (m *model) begin() {
	for range rapid.IntRange(1, 3).Draw(m.t, "plans") {
		m.plans = append(m.plans, m.ids(`INSERT INTO rowrun.plan (parallel_limit, on_failure) VALUES ($1, $2) RETURNING id`,
			draw(m, "limit", any(nil), 1, 2), draw(m, "on_failure", "STOP_DATABASE", "STOP", "CONTINUE"))...)
	}
	for range rapid.IntRange(2, 10).Draw(m.t, "tasks") {
		m.addTask()
	}
	for range rapid.IntRange(0, 2).Draw(m.t, "limits") {
		m.limit()
	}
	m.replica()
}

// limit makes a limit, or another one of it, or takes one away.
func (m *model) limit() {
	name := draw(m, "limit", "x", "y")
	if rapid.IntRange(0, 4).Draw(m.t, "no limit") == 0 {
		m.try(`SELECT rowrun.delete_limit($1)`, name)
		return
	}
	m.try(`INSERT INTO rowrun.concurrency_limit (name, type, key_path, max_running, rate, per, not_before, share)
		VALUES ($1, $2, $3::text::text[], $4, $5, CASE WHEN $5::int > 0 THEN interval '10 h' END, clock_timestamp() + $6::interval,
			CASE WHEN $3::text IS NULL THEN 'NONE' ELSE $7 END)
		ON CONFLICT (name) DO UPDATE SET type = excluded.type, key_path = excluded.key_path, max_running = excluded.max_running,
			rate = excluded.rate, per = excluded.per, not_before = excluded.not_before, share = excluded.share`,
		name, draw(m, "of", any(nil), any(nil), any("NOOP")), draw(m, "key", any(nil), any("{tenant}")), draw(m, "places", any(nil), 0, 1, 1, 2),
		draw(m, "rate", any(nil), any(nil), 2), draw(m, "not before", any(nil), any(nil), any(nil), "-1 h", "1 h"),
		draw(m, "share", "NONE", "FAIR"))
}

func (m *model) addTask() {
	var plan, db, version any
	if rapid.IntRange(0, 2).Draw(m.t, "of a plan") > 0 {
		plan = draw(m, "plan", m.plans...)
	}
	sequential := false
	if rapid.IntRange(0, 3).Draw(m.t, "on a database") > 0 {
		db = draw(m, "database", "a", "b")
		version = draw(m, "version", any(nil), "1", "1.0", "1.2", "1.10", "2")
		sequential = rapid.IntRange(0, 2).Draw(m.t, "sequential") == 0
	}
	m.tasks = append(m.tasks, m.ids(`INSERT INTO rowrun.task (plan_id, type, database_id, version, sequential, max_attempts, retry_delay, payload)
		VALUES ($1, $2, $3, $4, $5, $6, $7, jsonb_strip_nulls(jsonb_build_object('tenant', $8::text))) RETURNING id`, plan, draw(m, "type", "NOOP", "NOOP", "NOOP", "SQL", "OTHER"), db, version, sequential,
		rapid.IntRange(1, 2).Draw(m.t, "attempts"), draw(m, "delay", "0 s", "1 h"), draw(m, "tenant", any(nil), "a", "b"))...)
}

func (m *model) replica() {
	m.try(`INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, databases, concurrency)
		VALUES (gen_random_uuid()::text, clock_timestamp(), '1 hour', $1, $2, 100)`,
		draw(m, "types", []string{"NOOP"}, []string{"NOOP", "SQL"}, []string{"OTHER"}), draw(m, "databases", []string{}, []string{"a"}, []string{"a", "b"}))
}

func (m *model) change() {
	task, plan := draw(m, "task", m.tasks...), draw(m, "plan", m.plans...)
	some := func(status string) any {
		ids := m.ids(`SELECT id FROM rowrun.task_run WHERE status = $1 ORDER BY id`, status)
		if len(ids) == 0 {
			return nil
		}
		return draw(m, status, ids...)
	}
	on := rapid.Bool().Draw(m.t, "on")
	switch what := rapid.IntRange(0, 27).Draw(m.t, "what"); what {
	case 0, 1, 2, 3, 4, 5:
		m.try(`INSERT INTO rowrun.task_run (task_id, run_at, priority) VALUES ($1, clock_timestamp() + $2::interval, $3)`,
			task, draw(m, "in", "-1 h", "-1 s", "-1 s", "1 h"), draw(m, "priority", any(nil), 1, 5))
	case 24, 25:
		m.try(`INSERT INTO rowrun.task_run (task_id, run_at, after) SELECT $1, clock_timestamp() + $2::interval, array_agg(x.id)
			FROM (SELECT r.id FROM rowrun.task_run r ORDER BY r.id DESC OFFSET $3 LIMIT $4) x`,
			task, draw(m, "in", "-1 s", "-1 s", "1 h"), rapid.IntRange(0, 5).Draw(m.t, "behind"), rapid.IntRange(1, 3).Draw(m.t, "jobs"))
	case 6:
		m.addTask()
	case 7, 8, 9:
		m.try(`UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'x' WHERE id = $1`, some("AVAILABLE"))
	case 10, 11, 12, 13:
		m.try(`SELECT count(*) FROM rowrun.end_runs(ARRAY[$1::bigint], ARRAY[NULL::uuid], ARRAY[$2], ARRAY['{}'::jsonb], ARRAY[$3])`,
			some("RUNNING"), draw(m, "ends", "DONE", "DONE", "FAILED"), draw(m, "retry", "FAILURE", "NONE"))
	case 14:
		m.try(`SELECT rowrun.cancel_run(id) FROM rowrun.task_run WHERE id = $1`, some(draw(m, "status", "PENDING", "AVAILABLE")))
	case 15:
		m.try(`SELECT rowrun.retry_run(id) FROM rowrun.task_run WHERE id = $1`, some(draw(m, "status", "FAILED", "CANCELED")))
	case 16:
		m.try(`UPDATE rowrun.task SET skipped = $2 WHERE id = $1`, task, on)
	case 17:
		m.try(`UPDATE rowrun.task SET paused = $2 WHERE id = $1`, task, on)
	case 18:
		m.try(`UPDATE rowrun.plan SET paused = $2 WHERE id = $1`, plan, on)
	case 19:
		m.try(`UPDATE rowrun.plan SET parallel_limit = $2, on_failure = $3 WHERE id = $1`, plan, draw(m, "limit", any(nil), 1, 2),
			draw(m, "on_failure", "STOP_DATABASE", "STOP", "CONTINUE"))
	case 20:
		m.replica()
		m.try(`DELETE FROM rowrun.task_dependency WHERE $1 AND task_id = $2`, on, task)
	case 21:
		m.try(`INSERT INTO rowrun.task_dependency SELECT $1, d.id FROM rowrun.task k JOIN rowrun.task d ON d.plan_id = k.plan_id
			WHERE k.id = $1 AND d.id < $1 ORDER BY d.id LIMIT 1 ON CONFLICT DO NOTHING`, task)
	case 22:
		m.try(`UPDATE rowrun.task_run SET run_at = clock_timestamp() + $2::interval, priority = $3 WHERE id = $1`,
			some("PENDING"), draw(m, "in", "-1 h", "-1 s", "1 h"), draw(m, "priority", 0, 5))
		m.try(`DELETE FROM rowrun.task_run WHERE $2 AND id = $1`, some("PENDING"), on)
	case 23:
		// Many of one transaction, as the trigger sees it: in no savepoint.
		m.ids(`INSERT INTO rowrun.task_run (task_id) SELECT k.id FROM rowrun.task k, generate_series(1, $2)
			WHERE k.id = $1 AND k.plan_id IS NULL RETURNING id`, task, rapid.IntRange(2, 5).Draw(m.t, "many"))
	case 26, 27:
		m.limit()
	}
}

// waits is what a PENDING run waits for; behind is the run that keeps its database busy.
type waits struct {
	causes []string
	behind int64
}

// gotFull says that something has no room by now which others have taken since.
func (w waits) gotFull(before waits) bool {
	return slices.ContainsFunc([]string{"PLAN_LIMIT", "LIMIT", "RATE_LIMIT"}, func(cause string) bool {
		return slices.Contains(w.causes, cause) && !slices.Contains(before.causes, cause)
	})
}

// waiting asks it of each PENDING run by itself.
func (m *model) waiting() map[int64]waits {
	rows, err := m.conn.Query(m.ctx, `SELECT r.id, w.causes, w.behind FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
		CROSS JOIN LATERAL (SELECT coalesce(array_agg(w.cause), '{}') AS causes,
			coalesce(max((w.detail ->> 'run_id')::bigint) FILTER (WHERE w.cause = 'DATABASE_BUSY'), 0) AS behind FROM rowrun.waiting(r.id) w) w
		WHERE r.status = 'PENDING' AND NOT k.skipped`)
	require.NoError(m.t, err)
	found := map[int64]waits{}
	var id int64
	var w waits
	_, err = pgx.ForEachRow(rows, []any{&id, &w.causes, &w.behind}, func() error {
		found[id] = waits{slices.Clone(w.causes), w.behind}
		return nil
	})
	require.NoError(m.t, err)
	return found
}

// promote asks for passes until there is nothing more to do, nor in a moment (follow_turns). A replica with few slots, which takes some of what there is,
// claims of what is promoted, or nobody does.
func (m *model) promote() {
	for more, passes := true, 0; more; passes++ {
		var promoted, claimed int
		if m.twoSteps {
			require.NoError(m.t, m.conn.QueryRow(m.ctx, `SELECT promoted, more OR coalesce(next_ms < 1, false) FROM rowrun.promote_runs()`).Scan(&promoted, &more))
		} else {
			require.NoError(m.t, m.conn.QueryRow(m.ctx, `SELECT p.promoted, p.more OR coalesce(p.next_ms < 1, false), cardinality(p.claims) FROM rowrun.promote_runs(request =>
				ROW('x', (SELECT string_agg(sha256(uuid_send(gen_random_uuid())), '') FROM generate_series(1, $1)), 0, 0, '{default}', $2::text[], '{a,b}', '{}')::rowrun.claim_request) p`,
				rapid.IntRange(1, 3).Draw(m.t, "slots"), draw(m, "takes", []string{"NOOP"}, []string{"NOOP", "SQL", "OTHER"})).Scan(&promoted, &more, &claimed))
		}
		m.promoted, m.claimed = m.promoted+promoted, m.claimed+claimed
		more = more || promoted > 0
		require.Less(m.t, passes, 50, "the pass never ends")
	}
}

// seen makes what a pass has looked at an earlier transaction's: no INSERT stands beside a run of its own that a pass has seen.
func (m *model) seen() {
	_, err := m.conn.Exec(m.ctx, `UPDATE rowrun.task_run SET created_at = created_at - interval '1 us' WHERE status = 'PENDING' AND created_at = now()`)
	require.NoError(m.t, err)
}

func (m *model) promoteAndCompare() {
	before := m.waiting()
	// Their runs are canceled by the first pass, and others needn't wait for them in the next.
	skipped := m.ids(`SELECT r.id FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE r.status = 'PENDING' AND k.skipped`)
	m.promote()
	m.seen()
	after := m.waiting()
	for id, was := range before {
		left, pending := after[id]
		switch {
		case !pending && len(skipped) == 0:
			// What a pass promotes may take the last slot of a plan: a sequential run that comes to wait for it thereby lets
			// those go who waited behind it.
			gaveWay := slices.Equal(was.causes, []string{"DATABASE_BUSY"}) && after[was.behind].gotFull(before[was.behind])
			if len(was.causes) > 0 && !gaveWay {
				require.Fail(m.t, "promoted though it waited", "run %d: %v\n%s", id, was.causes, m.story())
			}
		case pending && len(left.causes) == 0:
			require.Fail(m.t, "left waiting for nothing", "run %d\n%s", id, m.story())
		case pending && len(was.causes) == 0:
			if !left.gotFull(was) && !slices.Contains(left.causes, "DATABASE_BUSY") {
				require.Fail(m.t, "waited for nothing and was not promoted", "run %d, now: %v\n%s", id, left.causes, m.story())
			}
		}
	}
}

// story is the state, for a report.
func (m *model) story() string {
	rows, err := m.conn.Query(m.ctx, `
		SELECT concat_ws(' ', 'run', r.id, 'task', r.task_id, 'plan', r.plan_id, r.status, r.type, 'db', r.database_id, 'v', r.version, 'seq', r.sequential,
			'prio', r.priority, r.run_at, 'cause', r.cause, 'judge_at', r.judge_at, 'limits', r.limit_keys, r.limit_wait, (SELECT string_agg(w.cause || ': ' || w.message, '; ') FROM rowrun.waiting(r.id) w))
		FROM rowrun.task_run r WHERE r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') ORDER BY r.id`)
	require.NoError(m.t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(m.t, err)
	return "\n" + joinLines(lines)
}

func joinLines(lines []string) (text string) {
	for _, l := range lines {
		text += l + "\n"
	}
	return text
}
