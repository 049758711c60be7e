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

// What waiting() tells people is what the promotion does. Runs come and go in random ways, all in one transaction;
// after each change the pass is asked to promote, with nothing but the marks to tell it where to look:
//
//   - a run that waited for nothing is promoted, unless one promoted beside it took its database or its plan's slot;
//   - a run that is promoted waited for nothing;
//   - a run that is left PENDING waits for something.
func TestWaitingAndPromotionAgree(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	rapid.Check(t, func(rt *rapid.T) {
		tx, err := conn.Begin(t.Context())
		require.NoError(rt, err)
		defer func() { require.NoError(rt, tx.Rollback(context.WithoutCancel(t.Context()))) }()
		m := &model{t: rt, ctx: t.Context(), conn: conn}
		m.begin()
		for range rapid.IntRange(1, 10).Draw(rt, "changes") {
			for range rapid.IntRange(1, 4).Draw(rt, "at once") {
				m.change()
			}
			m.promoteAndCompare()
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
	tx, err := m.conn.Begin(m.ctx)
	require.NoError(m.t, err)
	_, err = tx.Exec(m.ctx, "SAVEPOINT one")
	require.NoError(m.t, err)
	if _, err = tx.Exec(m.ctx, sql, args...); err != nil {
		require.Regexp(m.t, `SQLSTATE (RR00\d|23505)`, err.Error(), sql)
		_, err = tx.Exec(m.ctx, "ROLLBACK TO one")
		require.NoError(m.t, err)
	}
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
	m.replica()
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
	m.tasks = append(m.tasks, m.ids(`INSERT INTO rowrun.task (plan_id, type, database_id, version, sequential, max_attempts, retry_delay)
		VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`, plan, draw(m, "type", "NOOP", "NOOP", "NOOP", "SQL", "OTHER"), db, version, sequential,
		rapid.IntRange(1, 2).Draw(m.t, "attempts"), draw(m, "delay", "0 s", "1 h"))...)
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
	switch what := rapid.IntRange(0, 22).Draw(m.t, "what"); what {
	case 0, 1, 2, 3, 4, 5:
		m.try(`INSERT INTO rowrun.task_run (task_id, run_at, priority) VALUES ($1, clock_timestamp() + $2::interval, $3)`,
			task, draw(m, "in", "-1 h", "-1 s", "-1 s", "1 h"), draw(m, "priority", any(nil), 1, 5))
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
	}
}

// causes are those of each PENDING run.
func (m *model) causes() map[int64][]string {
	rows, err := m.conn.Query(m.ctx, `SELECT r.id, ARRAY(SELECT w.cause FROM rowrun.waiting(r.id) w)
		FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE r.status = 'PENDING' AND NOT k.skipped`)
	require.NoError(m.t, err)
	found := map[int64][]string{}
	for rows.Next() {
		var id int64
		var causes []string
		require.NoError(m.t, rows.Scan(&id, &causes))
		found[id] = causes
	}
	require.NoError(m.t, rows.Err())
	return found
}

// behind says which run keeps a database busy for others.
func (m *model) behind() map[int64]int64 {
	rows, err := m.conn.Query(m.ctx, `SELECT r.id, (w.detail ->> 'run_id')::bigint FROM rowrun.task_run r CROSS JOIN LATERAL rowrun.waiting(r.id) w
		WHERE r.status = 'PENDING' AND w.cause = 'DATABASE_BUSY'`)
	require.NoError(m.t, err)
	found := map[int64]int64{}
	for rows.Next() {
		var id, by int64
		require.NoError(m.t, rows.Scan(&id, &by))
		found[id] = by
	}
	require.NoError(m.t, rows.Err())
	return found
}

func (m *model) promoteAndCompare() {
	before, behind := m.causes(), m.behind()
	// Their runs are canceled by the first pass, and others needn't wait for them in the next.
	skipped := m.ids(`SELECT r.id FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE r.status = 'PENDING' AND k.skipped`)
	for more, passes := true, 0; more; passes++ {
		var promoted int
		require.NoError(m.t, m.conn.QueryRow(m.ctx, `SELECT promoted, more FROM rowrun.promote_runs()`).Scan(&promoted, &more))
		more = more || promoted > 0
		require.Less(m.t, passes, 50, "the pass never ends")
	}
	after := m.causes()
	for id, causes := range before {
		left, pending := after[id]
		switch {
		case !pending && len(skipped) == 0:
			// What a pass promotes may take the last slot of a plan: a sequential run that comes to wait for it thereby lets
			// those go who waited behind it.
			gaveWay := slices.Equal(causes, []string{"DATABASE_BUSY"}) && slices.Contains(after[behind[id]], "PLAN_LIMIT") &&
				!slices.Contains(before[behind[id]], "PLAN_LIMIT")
			require.True(m.t, len(causes) == 0 || gaveWay, "run %d was promoted though it waited: %v\n%s", id, causes, m.story())
		case pending && len(left) == 0:
			require.Fail(m.t, "left waiting for nothing", "run %d\n%s", id, m.story())
		case pending && len(causes) == 0:
			require.True(m.t, slices.Contains(left, "PLAN_LIMIT") || slices.Contains(left, "DATABASE_BUSY"),
				"run %d waited for nothing and was not promoted, now: %v\n%s", id, left, m.story())
		}
	}
}

// story is the state, for a report.
func (m *model) story() string {
	rows, err := m.conn.Query(m.ctx, `
		SELECT concat_ws(' ', 'run', r.id, 'task', r.task_id, 'plan', r.plan_id, r.status, r.type, 'db', r.database_id, 'v', r.version, 'seq', r.sequential,
			'prio', r.priority, r.run_at, 'hold', r.hold, 'judge_at', r.judge_at, (SELECT string_agg(w.cause || ': ' || w.message, '; ') FROM rowrun.waiting(r.id) w))
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
