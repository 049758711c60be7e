package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// planWorld is a database of plans with every kind of gate, made from a seed.
type planWorld struct {
	d *database

	mu    sync.Mutex
	plans map[int64][]int64 // their tasks, in order
}

// Versions grow with the order of a plan's tasks, which depend on earlier ones only, and each plan has a database of its
// own for them: nothing can wait in a circle that the database doesn't refuse.
const addTask = `INSERT INTO rowrun.task (plan_id, type, payload, database_id, version, sequential, max_attempts, retry_delay, on_stale)
	SELECT $1, 'NOOP', $2, CASE WHEN $3 THEN 'of plan ' || $1::bigint WHEN $4 THEN 'shared' END, CASE WHEN $3 THEN n.next END, $4, $5, '50 ms', $6
	FROM (SELECT (count(*) + 1)::text AS next FROM rowrun.task k WHERE k.plan_id = $1) n RETURNING id`

func newPlanWorld(t *testing.T, d *database, rnd *rand.Rand) *planWorld {
	t.Helper()
	w := &planWorld{d: d, plans: map[int64][]int64{}}
	for range 3 + rnd.IntN(3) {
		plan := ask[int64](t, d, "INSERT INTO rowrun.plan (parallel_limit, on_failure) VALUES ($1, $2) RETURNING id",
			anyOf(rnd, any(nil), 1, 2, 3), anyOf(rnd, "STOP_DATABASE", "STOP", "CONTINUE"))
		w.plans[plan] = nil
		for range 1 + rnd.IntN(6) {
			require.NoError(t, w.addTask(t.Context(), rnd, plan))
		}
		if rnd.IntN(2) == 0 {
			d.exec(t, "SELECT rowrun.run_plan($1)", plan)
		}
	}
	return w
}

func (w *planWorld) addTask(ctx context.Context, rnd *rand.Rand, plan int64) error {
	var id int64
	err := w.d.pool.QueryRow(ctx, addTask, plan, payload(rnd), rnd.IntN(3) == 0, rnd.IntN(8) == 0, 1+rnd.IntN(2), anyOf(rnd, "FAIL", "RETRY")).Scan(&id)
	if err != nil {
		return err
	}
	w.mu.Lock()
	earlier := slices.Clone(w.plans[plan])
	w.plans[plan] = append(w.plans[plan], id)
	w.mu.Unlock()
	if len(earlier) > 0 && rnd.IntN(2) == 0 {
		_, err = w.d.pool.Exec(ctx, "INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES ($1, $2)", id, anyOf(rnd, earlier...))
	}
	return err
}

// payload makes every third task one that fails until somebody mends it.
func payload(rnd *rand.Rand) string {
	if rnd.IntN(3) == 0 {
		return `{"sleep": "5ms", "fail": "no luck"}`
	}
	return anyOf(rnd, `{}`, `{"sleep": "5ms"}`, `{"sleep": "50ms"}`)
}

func anyOf[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

// act is one person: random transactions, some rolled back. What the database refuses because of what others did
// meanwhile ends the transaction; anything else is an error.
func (w *planWorld) act(ctx context.Context, rnd *rand.Rand, transactions int) error {
	for range transactions {
		if rnd.IntN(15) == 0 {
			if err := w.addTask(ctx, rnd, w.anyPlan(rnd)); err != nil && !refused(err) {
				return err
			}
		}
		err := pgx.BeginFunc(ctx, w.d.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '2s'"); err != nil {
				return err
			}
			for range 1 + rnd.IntN(2) {
				if err := w.do(ctx, tx, rnd); err != nil {
					return err
				}
			}
			if rnd.IntN(4) == 0 {
				if _, err := tx.Exec(ctx, "SELECT pg_sleep($1)", rnd.Float64()*0.03); err != nil {
					return err
				}
			}
			if rnd.IntN(10) == 0 {
				return pgx.ErrTxClosed // rolled back
			}
			return nil
		})
		if err != nil && err != pgx.ErrTxClosed && !refused(err) { //nolint:errorlint // as it was returned above
			return err
		}
		if _, err := w.d.pool.Exec(ctx, "SELECT pg_sleep($1)", rnd.Float64()*0.08); err != nil {
			return err
		}
	}
	return nil
}

// refused: a state in which that can't be done, a second run of a task, a lock that wasn't to be had.
func refused(err error) bool {
	code := sqlState(err)
	return strings.HasPrefix(code, "RR0") || slices.Contains([]string{"23505", "40P01", "55P03"}, code)
}

// do is one thing that a person does.
func (w *planWorld) do(ctx context.Context, tx pgx.Tx, rnd *rand.Rand) error {
	plan := w.anyPlan(rnd)
	w.mu.Lock()
	task := anyOf(rnd, w.plans[plan]...)
	w.mu.Unlock()
	exec := func(sql string, args ...any) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	}
	switch n := rnd.IntN(100); {
	case n < 18:
		return exec("INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + make_interval(secs => $2))", task, max(0, rnd.Float64()*0.4-0.3))
	case n < 30:
		return exec("SELECT rowrun.run_plan($1)", plan)
	case n < 44:
		return exec("SELECT rowrun.retry_plan($1)", plan)
	case n < 50:
		return exec(`SELECT rowrun.retry_run(s.last_run_id) FROM rowrun.task_status s WHERE s.task_id = $1 AND s.status IN ('FAILED', 'CANCELED')`, task)
	case n < 53:
		return exec("SELECT rowrun.cancel_plan($1, 'test')", plan)
	case n < 57:
		return exec("SELECT rowrun.cancel_run(s.last_run_id) FROM rowrun.task_status s WHERE s.task_id = $1 AND s.last_run_id IS NOT NULL", task)
	case n < 63:
		return exec("SELECT rowrun.skip_task($1, 'test')", task)
	case n < 66:
		return exec("UPDATE rowrun.task SET skipped = true WHERE id = $1", task)
	case n < 72:
		return exec("SELECT rowrun.unskip_task($1)", task)
	case n < 75:
		return exec("UPDATE rowrun.task SET skipped = false WHERE id = $1", task)
	case n < 83:
		return exec("UPDATE rowrun.plan SET paused = $2 WHERE id = $1", plan, rnd.IntN(3) == 0)
	case n < 87:
		return exec("UPDATE rowrun.task SET paused = $2 WHERE id = $1", task, rnd.IntN(3) == 0)
	case n < 90:
		return exec("UPDATE rowrun.plan SET parallel_limit = $2 WHERE id = $1", plan, anyOf(rnd, any(nil), 1, 2, 3))
	default:
		return exec("UPDATE rowrun.task SET payload = $2 WHERE id = $1", task, payload(rnd))
	}
}

func (w *planWorld) anyPlan(rnd *rand.Rand) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return anyOf(rnd, slices.Sorted(maps.Keys(w.plans))...)
}

// lift does what only a person can, until every plan is DONE: pauses, what failed, was canceled or never ran.
func (w *planWorld) lift(t *testing.T) {
	t.Helper()
	w.d.exec(t, `UPDATE rowrun.task SET payload = '{"sleep": "5ms"}'`)
	w.d.exec(t, "UPDATE rowrun.plan SET paused = false WHERE paused")
	w.d.exec(t, "UPDATE rowrun.task SET paused = false WHERE paused")
	awaitUntil(t, "every plan DONE once a person has done what only a person can", func() string {
		w.d.exec(t, "SELECT rowrun.retry_plan(id), rowrun.run_plan(id) FROM rowrun.plan")
		return w.d.text(t, "SELECT string_agg(plan_id || ' ' || status, ', ' ORDER BY plan_id) FROM rowrun.plan_status WHERE status <> 'DONE'")
	})
}

// waiter is a run that has not ended.
type waiter struct {
	ID, TaskID, PlanID int64
	Status             string
	Causes             []byte // [{"cause", "detail"}]
}

// awaitQuiet waits until every run that has not ended waits, in the end, for a person.
func (w *planWorld) awaitQuiet(t *testing.T) {
	t.Helper()
	awaitUntil(t, "every run ended or waiting for a person", func() string {
		rows, err := w.d.pool.Query(t.Context(), `SELECT r.id, r.task_id, r.plan_id, r.status,
				coalesce((SELECT jsonb_agg(jsonb_build_object('cause', x.cause, 'detail', x.detail)) FROM rowrun.waiting(r.id) x), '[]') AS causes
			FROM rowrun.task_run r WHERE r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')`)
		require.NoError(t, err)
		runs, err := pgx.CollectRows(rows, pgx.RowToStructByName[waiter])
		require.NoError(t, err)
		idle := list[int64](t, w.d, `SELECT s.task_id FROM rowrun.task_status s WHERE s.status IN ('NOT_STARTED', 'FAILED', 'CANCELED')`)
		return strings.Join(forgotten(t, runs, idle), "; ")
	})
}

// forgotten are the runs that wait for nobody: neither a person, nor a task that does, nor a run that does.
func forgotten(t *testing.T, runs []waiter, idle []int64) []string {
	t.Helper()
	held, heldTask, heldSlot := map[int64]bool{}, map[int64]bool{}, map[int64]bool{}
	for _, task := range idle {
		heldTask[task] = true
	}
	type cause struct {
		Cause  string
		Detail struct {
			RunID   int64   `json:"run_id"`
			RunIDs  []int64 `json:"run_ids"`
			TaskIDs []int64 `json:"task_ids"`
			PlanID  int64   `json:"plan_id"`
		}
	}
	for again := true; again; {
		again = false
		for _, run := range runs {
			if held[run.ID] {
				continue
			}
			var causes []cause
			require.NoError(t, json.Unmarshal(run.Causes, &causes))
			for _, c := range causes {
				switch c.Cause {
				case "PAUSED", "PLAN_FAILED":
					held[run.ID] = true
				case "DEPENDENCY":
					held[run.ID] = held[run.ID] || slices.ContainsFunc(c.Detail.TaskIDs, func(id int64) bool { return heldTask[id] })
				case "VERSION", "DATABASE_BUSY":
					held[run.ID] = held[run.ID] || held[c.Detail.RunID]
				case "PLAN_LIMIT":
					held[run.ID] = held[run.ID] || heldSlot[run.PlanID]
				}
			}
			if held[run.ID] {
				again, heldTask[run.TaskID] = true, true
				heldSlot[run.PlanID] = heldSlot[run.PlanID] || run.Status == "AVAILABLE"
			}
		}
	}
	var left []string
	for _, run := range runs {
		if !held[run.ID] {
			left = append(left, fmt.Sprintf("run %d of task %d, plan %d, is %s: %s", run.ID, run.TaskID, run.PlanID, run.Status, run.Causes))
		}
	}
	return left
}

// requireAnnounced waits until each plan that is over has the event of its round, as nothing else happens any more.
func (w *planWorld) requireAnnounced(t *testing.T) {
	t.Helper()
	awaitUntil(t, "the event of each round", func() string {
		return w.d.text(t, `SELECT string_agg(s.plan_id || ' is ' || s.status || ' in round ' || s.round || ', announced: ' || coalesce(l.event_type || ' ' || l.round, 'nothing'), '; ')
			FROM rowrun.plan_status s LEFT JOIN rowrun.webhook_delivery_log l USING (plan_id)
			WHERE s.status = 'DONE' AND NOT s.paused AND (l.event_type, l.round) IS DISTINCT FROM ('PIPELINE_COMPLETED', s.round)
			   OR l.round <> s.round`)
	})
}
