package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// outsideJob is the place of the task that workers in SQL execute.
const outsideJob = 13

// migrated lists the versions that are DONE.
const migrated = `SELECT k.version FROM rowrun.task_status s JOIN rowrun.task k ON k.id = s.task_id
	WHERE k.type = 'DATABASE_MIGRATE' AND s.status = 'DONE'`

// workersAtOnce is the limit of the type EXT.
const workersAtOnce = 3

// world is what there is to do, and what clients were answered.
type world struct {
	pool   *pgxpool.Pool
	target *pgxpool.Pool
	jobs   []int64           // tasks without a plan
	again  []int64           // of these, whose lost runs begin anew
	alone  []int64           // tasks of a database on which nothing else is done, one of them sequential
	plans  map[int64][]int64 // their tasks, in order
	long   int64             // a plan whose only task takes its time
	twins  int64             // a plan whose tasks begin and end together
	config string            // the file of every replica
	limits map[string]int    // by id, most runs at once of a key

	mu       sync.Mutex
	ids      []int64          // runs that were acknowledged
	undone   []int64          // runs of transactions that were rolled back
	canceled map[int64]string // what cancel_run answered
	keyed    map[string]int64 // by task and idempotency key
	refused  int              // results with a claim that nobody has
	forged   []int64          // runs that such a result ended
}

func anyOf[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

func connect(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.MaxConns = 8
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func ask[T any](t *testing.T, pool *pgxpool.Pool, sql string, args ...any) T {
	t.Helper()
	var value T
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, pool.QueryRow(ctx, sql, args...).Scan(&value), sql)
	return value
}

func list[T any](t *testing.T, pool *pgxpool.Pool, sql string, args ...any) []T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	rows, err := pool.Query(ctx, sql, args...)
	require.NoError(t, err, sql)
	all, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(t, err, sql)
	return all
}

func run(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := pool.Exec(ctx, sql, args...)
	require.NoError(t, err, sql)
}

// newWorld makes tasks of every kind; replicas reach the target by toTarget. What limits them stays as it is, so that every moment can be held to it.
func newWorld(t *testing.T, dir string, rnd *rand.Rand, pool *pgxpool.Pool, target, toTarget, hook string) *world {
	t.Helper()
	w := &world{pool: pool, target: connect(t, target), plans: map[int64][]int64{}, canceled: map[int64]string{}, keyed: map[string]int64{}, limits: map[string]int{}}
	run(t, w.target, "CREATE TABLE effect (what text)")
	w.config = filepath.Join(dir, "rowrun.yaml")
	require.NoError(t, os.WriteFile(w.config, []byte(fmt.Sprintf("databases: {orders: {url: %q}}\n", toTarget)), 0o600))
	run(t, pool, "INSERT INTO rowrun.webhook (name, url) VALUES ('both', $1)", hook)
	run(t, pool, "INSERT INTO rowrun.webhook (name, url, events) VALUES ('failures', $1, '{PIPELINE_FAILED}')", hook)
	limit := func(name string, kind, key any, most int) {
		w.limits[ask[string](t, pool, "INSERT INTO rowrun.concurrency_limit (name, type, key_path, max_running) VALUES ($1, $2, $3, $4) RETURNING id::text", name, kind, key, most)] = most
	}
	limit("workers", "EXT", nil, workersAtOnce)
	if rnd.IntN(2) == 0 { // where no limit may apply, replicas claim by other statements
		limit("tenants", nil, []string{"tenant"}, 1+rnd.IntN(2))
	}
	const insert = `INSERT INTO rowrun.task (type, payload, database_id, sequential, max_attempts, on_stale, schedule, version, retry_delay) VALUES (`
	for _, job := range []string{
		`'NOOP', '{}', NULL, NULL, 1, 'RETRY', NULL, NULL`,
		`'NOOP', '{"sleep": "40ms"}', NULL, NULL, 1, 'FAIL', NULL, NULL`,
		`'NOOP', '{"sleep": "5ms", "fail": "no luck"}', NULL, NULL, 3, 'FAIL', NULL, NULL`,
		`'NOOP', '{"tenant": "a", "sleep": "30ms"}', NULL, NULL, 1, 'RETRY', NULL, NULL`,
		`'NOOP', '{"tenant": "b", "sleep": "5ms"}', NULL, NULL, 1, 'RETRY', NULL, NULL`,
		`'NOOP', '{"sleep": "20ms"}', 'gated', true, 1, 'RETRY', NULL, NULL`,
		`'NOOP', '{"sleep": "10ms"}', 'gated', false, 1, 'RETRY', NULL, NULL`,
		`'SQL', '{"sql": "SELECT pg_sleep(0.02)"}', 'orders', false, 2, 'RETRY', NULL, NULL`,
		`'HTTP', '{"path": "/ok"}', NULL, NULL, 2, 'RETRY', NULL, NULL`,
		`'HTTP', '{"path": "/flaky"}', NULL, NULL, 2, 'RETRY', NULL, NULL`,
		`'HTTP', '{"path": "/slow"}', NULL, NULL, 2, 'RETRY', NULL, NULL`,
		`'HTTP', '{"path": "/take"}', NULL, NULL, 2, 'RETRY', NULL, NULL`,
		`'HTTP', '{"path": "/ok", "tenant": "c"}', 'gated', false, 2, 'RETRY', NULL, NULL`,
		`'EXT', '{}', NULL, NULL, 2, 'RETRY', NULL, NULL`,
		`'NOOP', '{"sleep": "10ms"}', NULL, NULL, 1, 'FAIL', '-', NULL`,
		`'NOOP', '{"sleep": "400ms"}', 'versions', false, 1, 'RETRY', NULL, '1'`,
		`'NOOP', '{"sleep": "5ms"}', 'versions', false, 1, 'CANCEL', NULL, '1.1'`,
		`'NOOP', '{}', 'versions', true, 1, 'RETRY', NULL, '1.2'`,
		`'NOOP', '{"sleep": "30ms"}', 'versions', false, 1, 'RETRY', NULL, '1.10'`,
	} {
		w.jobs = append(w.jobs, ask[int64](t, pool, insert+job+`, '50 ms') RETURNING id`))
		if strings.Contains(job, "'RETRY'") {
			w.again = append(w.again, w.jobs[len(w.jobs)-1])
		}
	}
	ask[int64](t, pool, insert+`'NOOP', '{"sleep": "1300ms"}', NULL, NULL, 1, 'FAIL', '-', NULL, '50 ms') RETURNING id`) // longer than from tick to tick
	for _, sequential := range []bool{true, false} {
		w.alone = append(w.alone, ask[int64](t, pool, insert+`'NOOP', '{"sleep": "3ms"}', 'often free', $1, 1, 'RETRY', NULL, NULL, '50 ms') RETURNING id`, sequential))
	}
	w.addStopped(t)
	w.long = w.addAlike(t, 1, "700ms")
	w.twins = w.addAlike(t, 8, "30ms")
	for i := range 2 + rnd.IntN(3) {
		w.addPlan(t, rnd, i)
	}
	return w
}

// addStopped makes a plan whose smallest version fails, so that the larger ones wait for a person.
func (w *world) addStopped(t *testing.T) {
	t.Helper()
	plan := ask[int64](t, w.pool, "INSERT INTO rowrun.plan (on_failure) VALUES ('STOP_DATABASE') RETURNING id")
	w.plans[plan] = list[int64](t, w.pool, `INSERT INTO rowrun.task (plan_id, type, payload, database_id, version, on_stale)
		SELECT $1, 'NOOP', CASE version WHEN '1.9' THEN '{"sleep": "5ms", "fail": "no luck"}' ELSE '{"sleep": "5ms"}' END::jsonb, 'stopped', version, 'RETRY'
		FROM unnest('{1.9,1.10,2}'::text[]) version RETURNING id`, plan)
}

// addAlike makes a plan of equal tasks that wait for nothing.
func (w *world) addAlike(t *testing.T, tasks int, sleep string) (plan int64) {
	t.Helper()
	plan = ask[int64](t, w.pool, "INSERT INTO rowrun.plan DEFAULT VALUES RETURNING id")
	w.plans[plan] = list[int64](t, w.pool, `INSERT INTO rowrun.task (plan_id, type, payload, on_stale)
		SELECT $1, 'NOOP', jsonb_build_object('sleep', $2::text), 'RETRY' FROM generate_series(1, $3) RETURNING id`, plan, sleep, tasks)
	return plan
}

func (w *world) addPlan(t *testing.T, rnd *rand.Rand, number int) {
	t.Helper()
	plan := ask[int64](t, w.pool, "INSERT INTO rowrun.plan (parallel_limit, on_failure) VALUES ($1, $2) RETURNING id",
		anyOf(rnd, any(nil), 1, 2), anyOf(rnd, "STOP_DATABASE", "STOP", "CONTINUE"))
	shape := anyOf(rnd, "migrates", "versions", "mixed", "mixed")
	tasks := 2 + rnd.IntN(5)
	if number == 0 { // long enough to meet what its target's network loses
		shape, tasks = "migrates", 6
	}
	for i := range tasks {
		kind, payload := "NOOP", anyOf(rnd, `{}`, `{"sleep": "5ms"}`, `{"sleep": "60ms"}`, `{"sleep": "5ms", "fail": "no luck"}`)
		var database, version any
		switch {
		case shape == "migrates":
			kind, database, version = "DATABASE_MIGRATE", "orders", fmt.Sprintf("%d.%d", number+1, i+1)
			payload = fmt.Sprintf(`{"sql": "INSERT INTO effect VALUES ('%d.%d'); SELECT pg_sleep(0.06)"}`, number+1, i+1)
		case shape == "versions" || rnd.IntN(3) == 0:
			database, version = fmt.Sprintf("of plan %d", number), fmt.Sprint(i+1)
		case rnd.IntN(3) == 0:
			kind, payload = "HTTP", `{"path": "/ok"}`
		}
		task := ask[int64](t, w.pool, `INSERT INTO rowrun.task (plan_id, type, payload, database_id, version, max_attempts, on_stale, retry_delay)
			VALUES ($1, $2, $3, $4, $5, $6, 'RETRY', '50 ms') RETURNING id`, plan, kind, payload, database, version, 1+rnd.IntN(2))
		if earlier := w.plans[plan]; len(earlier) > 0 && rnd.IntN(2) == 0 {
			run(t, w.pool, "INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES ($1, $2)", task, anyOf(rnd, earlier...))
		}
		w.plans[plan] = append(w.plans[plan], task)
	}
}

// lift does what only a person can, until every plan is over and every run has ended.
func (w *world) lift(t *testing.T) {
	t.Helper()
	run(t, w.pool, "UPDATE rowrun.task SET schedule = '-' WHERE schedule IS NOT NULL")
	run(t, w.pool, `UPDATE rowrun.task SET payload = payload - 'fail' WHERE payload ? 'fail'`)
	run(t, w.pool, "UPDATE rowrun.plan SET paused = false WHERE paused")
	run(t, w.pool, "UPDATE rowrun.task SET paused = false WHERE paused")
	left := func() string {
		var text *string
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _, err := w.pool.Exec(ctx, "SELECT rowrun.retry_plan(id), rowrun.run_plan(id) FROM rowrun.plan"); err != nil {
			return err.Error()
		}
		err := w.pool.QueryRow(ctx, `SELECT nullif(concat_ws('; ',
			(SELECT string_agg('plan ' || plan_id || ' ' || status, ', ' ORDER BY plan_id) FROM rowrun.plan_status WHERE status <> 'DONE'),
			(SELECT string_agg(r.id || ' ' || r.status, ', ' ORDER BY r.id) FROM rowrun.task_run r WHERE r.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))), '')`).Scan(&text)
		if err != nil {
			return err.Error()
		}
		if text == nil {
			return ""
		}
		return *text
	}
	awaitNone(t, patience, "ends: all of it is over once the faults are", left)
	w.awaitEvents(t)
}

// endTogether runs the tasks of one plan, which end at almost the same time, beside runs that every replica wants: nothing is left over, and the
// plan's round has its event.
func (w *world) endTogether(t *testing.T) {
	t.Helper()
	run(t, w.pool, "UPDATE rowrun.task SET payload = jsonb_build_object('sleep', 20 + 6 * random() || 'ms') WHERE plan_id = $1", w.twins)
	run(t, w.pool, "INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE plan_id = $1 AND NOT skipped", w.twins)
	w.ids = append(w.ids, list[int64](t, w.pool, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 30) RETURNING id", w.jobs[0])...)
	awaitNone(t, patience, "ends: what began together", func() string {
		return strings.Join(list[string](t, w.pool, "SELECT id || ' ' || status FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING')"), ", ")
	})
	w.awaitEvents(t)
}

// migrateAgain runs each migration once more by hand, which takes no effect, as each has had its own.
func (w *world) migrateAgain(t *testing.T) {
	t.Helper()
	effects := list[string](t, w.target, "SELECT what FROM effect")
	for _, version := range list[string](t, w.pool, migrated) {
		if !slices.Contains(effects, version) {
			require.FailNow(t, "migrations: one is DONE, and took no effect", version)
		}
	}
	run(t, w.pool, "INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE type = 'DATABASE_MIGRATE' AND NOT skipped")
	awaitNone(t, patience, "ends: migrations that were applied", func() string {
		return strings.Join(list[string](t, w.pool, "SELECT id || ' ' || status FROM rowrun.task_run WHERE type = 'DATABASE_MIGRATE' AND status IN ('PENDING', 'AVAILABLE', 'RUNNING')"), ", ")
	})
}

func (w *world) awaitMessages(t *testing.T) {
	t.Helper()
	awaitNone(t, patience, "delivered: every message arrives", func() string {
		return strings.Join(list[string](t, w.pool, "SELECT message_id || ' ' || status || ' ' || attempts FROM rowrun.webhook_delivery WHERE status <> 'DELIVERED'"), ", ")
	})
}

// awaitEvents waits until each plan that is over is announced.
func (w *world) awaitEvents(t *testing.T) {
	t.Helper()
	awaitNone(t, patience, "announced: each round has its event", func() string {
		return strings.Join(list[string](t, w.pool, `SELECT s.plan_id || ' is DONE in round ' || s.round || ', announced: ' || coalesce(l.event_type || ' ' || l.round, 'nothing')
			FROM rowrun.plan_status s LEFT JOIN rowrun.webhook_delivery_log l USING (plan_id)
			WHERE s.status = 'DONE' AND (l.event_type, l.round) IS DISTINCT FROM ('PIPELINE_COMPLETED', s.round)`), ", ")
	})
}

func (w *world) known(rnd *rand.Rand) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ids) == 0 {
		return 0
	}
	return w.ids[len(w.ids)-1-rnd.IntN(min(len(w.ids), 20))]
}

func (w *world) aPlan(rnd *rand.Rand) (plan, task int64) {
	var all []int64
	for id := range w.plans {
		all = append(all, id)
	}
	slices.Sort(all)
	plan = anyOf(rnd, all...)
	return plan, anyOf(rnd, w.plans[plan]...)
}

func until(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	awaitNone(t, within, what, func() string {
		if ok() {
			return ""
		}
		return "not yet"
	})
}

// awaitNone polls until nothing is left over, and fails with what was.
func awaitNone(t *testing.T, within time.Duration, what string, left func() string) {
	t.Helper()
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(within); ; <-tick.C {
		over := left()
		if over == "" {
			return
		}
		if time.Now().After(deadline) {
			require.FailNow(t, what, "not within %s: %s", within, over)
		}
	}
}
