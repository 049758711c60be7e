package scheduler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// left is a run that has not ended, and what rowrun.waiting says of it.
type left struct {
	ID, Task int64
	Plan     *int64
	Status   string
	Internal string // for the report: how the pass sees it
	Causes   []cause
}

type cause struct {
	Cause, Message string
	Detail         struct {
		RunID   int64   `json:"run_id"`
		TaskIDs []int64 `json:"task_ids"`
		RunIDs  []int64 `json:"run_ids"`
	}
}

// requireQuiet waits until every run has ended or waits for a person; how many do.
func requireQuiet(t *testing.T, conn *pgx.Conn) int {
	t.Helper()
	// Longer than any of the schedulers' own second tries, far shorter than a sweep.
	began := time.Now()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		runs, idle, err := unfinished(t.Context(), conn)
		require.NoError(t, err)
		forgotten := stuckWithoutPerson(runs, idle)
		if len(forgotten) == 0 {
			t.Logf("quiet after %d ms", time.Since(began).Milliseconds())
			return len(runs)
		}
		if time.Since(began) < time.Minute {
			// Of a task that was skipped beside its INSERT a run may be AVAILABLE: of that a sweep alone is to find out, and it holds up others until then.
			_, err := conn.Exec(t.Context(), `SELECT rowrun.cancel_skipped() WHERE EXISTS (
				SELECT FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE r.status = 'AVAILABLE' AND k.skipped)`)
			require.NoError(t, err)
			<-tick.C
			continue
		}
		var marks int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM rowrun.gate_mark`).Scan(&marks))
		happened, rows := recent(t, conn), available(t, conn)
		require.Fail(t, "runs are left that no person holds", "%d marks\n%s\nAVAILABLE, with their tasks:\n%s\n%s\nwhat happened on the databases:\n%s", marks,
			strings.Join(forgotten, "\n"), strings.Join(rows, "\n"), afterLook(t, conn), strings.Join(happened, "\n"))
	}
}

// available are the rows of AVAILABLE runs and of their tasks, with who wrote and who locks them.
func available(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		SELECT concat_ws(' ', r.xmin, r.xmax, to_jsonb(r), k.xmin, k.xmax, to_jsonb(k), 'next xid', pg_snapshot_xmax(pg_current_snapshot()))
		FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE r.status = 'AVAILABLE' ORDER BY r.id`)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return lines
}

// afterLook says what a look finds that somebody asks for: who was told of nothing does something then, who can't do it doesn't.
func afterLook(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	_, err := conn.Exec(t.Context(), `SELECT rowrun.notify_look()`)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `SELECT pg_sleep(2)`)
	require.NoError(t, err)
	runs, idle, err := unfinished(t.Context(), conn)
	require.NoError(t, err)
	left := stuckWithoutPerson(runs, idle)
	return fmt.Sprintf("%d are left two seconds after a look: %s", len(left), strings.Join(left, "\n"))
}

// recent tells of the runs that changed last on databases where something waits, and of their tasks, in the order of change.
func recent(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		SELECT concat_ws(' ', x.updated_at::time, 'run', x.id, x.status, 'hold', x.cause, 'xmin', x.xmin, 'judge_at', x.judge_at::time, 'run_at', x.run_at::time,
		    'created', x.created_at::time, 'available', x.available_at::time, 'started', x.started_at::time, 'finished', x.finished_at::time,
		    'db', x.database_id, 'v', x.version, 'seq', x.sequential, 'prio', x.priority, 'plan', x.plan_id, 'edited_directly', x.edited_directly,
		    'reason', x.cancel_reason, x.result ->> 'code', 'task', k.id, 'paused', k.paused, 'skipped', k.skipped, 'task xmin', k.xmin)
		FROM rowrun.task_run x JOIN rowrun.task k ON k.id = x.task_id
		WHERE x.database_id IN (SELECT r.database_id FROM rowrun.task_run r WHERE r.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
		ORDER BY x.updated_at DESC LIMIT 200`)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	slices.Reverse(lines)
	return lines
}

// unfinished reads what has not ended, and the tasks that have no such run and are neither DONE nor SKIPPED.
func unfinished(ctx context.Context, conn *pgx.Conn) (runs map[int64]*left, idle map[int64]bool, err error) {
	rows, err := conn.Query(ctx, `
		SELECT r.id, r.task_id, r.plan_id, r.status, concat_ws(' ', 'cause', r.cause, 'judge_at', r.judge_at, 'db', r.database_id, 'v', r.version, 'seq', r.sequential),
		       coalesce((SELECT jsonb_agg(jsonb_build_object('cause', w.cause, 'message', w.message, 'detail', w.detail))
		                 FROM rowrun.waiting(r.id) w), '[]')
		FROM rowrun.task_run r WHERE r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')`)
	if err != nil {
		return nil, nil, err
	}
	runs, idle = map[int64]*left{}, map[int64]bool{}
	for rows.Next() {
		var r left
		var causes []byte
		if err := rows.Scan(&r.ID, &r.Task, &r.Plan, &r.Status, &r.Internal, &causes); err != nil {
			return nil, nil, err
		}
		if err := json.Unmarshal(causes, &r.Causes); err != nil {
			return nil, nil, err
		}
		runs[r.ID] = &r
	}
	if err := rows.Err(); err != nil {
		return nil, nil, err
	}
	rows, err = conn.Query(ctx, `SELECT task_id FROM rowrun.task_status WHERE status IN ('NOT_STARTED', 'FAILED', 'CANCELED')`)
	if err != nil {
		return nil, nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	for _, id := range ids {
		idle[id] = true
	}
	return runs, idle, err
}

// stuckWithoutPerson reports the runs that wait for nothing that a person must lift: neither themselves nor, through
// any chain, what they wait for.
func stuckWithoutPerson(runs map[int64]*left, idle map[int64]bool) (report []string) {
	held := map[int64]bool{}
	for changed := true; changed; {
		changed = false
		for id, r := range runs {
			if !held[id] && r.held(runs, held, idle) {
				held[id], changed = true, true
			}
		}
	}
	for _, id := range sorted(runs) {
		if !held[id] {
			report = append(report, runs[id].report())
		}
	}
	return report
}

func (r *left) held(runs map[int64]*left, held, idle map[int64]bool) bool {
	for _, c := range r.Causes {
		switch c.Cause {
		case "PAUSED", "PLAN_FAILED", "NO_REPLICA":
			return true
		case "VERSION", "DATABASE_BUSY":
			if held[c.Detail.RunID] {
				return true
			}
		case "PLAN_LIMIT":
			for id, o := range runs {
				if held[id] && o.Status == "AVAILABLE" && o.Plan != nil && *o.Plan == *r.Plan {
					return true
				}
			}
		case "LIMIT": // an AVAILABLE run of a task that is paused keeps its place
			if slices.ContainsFunc(c.Detail.RunIDs, func(id int64) bool { return held[id] }) {
				return true
			}
		case "DEPENDENCY":
			for _, run := range c.Detail.RunIDs {
				if _, unfinished := runs[run]; !unfinished || held[run] { // it failed for good, or is gone
					return true
				}
			}
			for _, task := range c.Detail.TaskIDs {
				if idle[task] {
					return true
				}
				for id, o := range runs {
					if o.Task == task && held[id] {
						return true
					}
				}
			}
		}
	}
	return false
}

func (r *left) report() string {
	return fmt.Sprintf("run %d of task %d, %s (%s): %+v", r.ID, r.Task, r.Status, r.Internal, r.Causes)
}
