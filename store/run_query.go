package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// RunFilter says which runs are asked for; what is left empty holds for all.
type RunFilter struct {
	// Statuses are one or several of a run's six.
	Statuses []string
	// FailedForGood asks for FAILED runs without a successor, the last to fail first.
	FailedForGood bool
	Type          string
	Queue         string
	PlanID        *int64
	// Task is an id, or else a name: of the tasks of all plans, and of those without one.
	Task       string
	DatabaseID string
	// Limit is the most runs to return. Required.
	Limit int
}

// ErrNoTask says that the task that a filter names doesn't exist.
var ErrNoTask = errors.New("there is no such task")

// The runs that wait, each once. No index covers all of them; each part has one of its own, so that nothing here reads
// the runs that have ended. What has neither a mark nor a reason is found by the next sweep, which gives it one.
const pendingRuns = `
    SELECT ` + filterColumns + ` FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.database_id IS NOT NULL
    UNION ALL
    SELECT ` + filterColumns + ` FROM rowrun.task_run p
    WHERE p.plan_id IS NOT NULL AND p.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND p.status = 'PENDING' AND p.database_id IS NULL
    UNION ALL
    SELECT ` + filterColumns + ` FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.hold = 'READY' AND p.plan_id IS NULL AND p.database_id IS NULL
    UNION ALL
    SELECT ` + filterColumns + ` FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.hold = 'PAUSED' AND p.plan_id IS NULL AND p.database_id IS NULL
    UNION ALL
    SELECT ` + filterColumns + ` FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.hold = 'REPLICA' AND p.plan_id IS NULL AND p.database_id IS NULL
    UNION ALL
    SELECT ` + filterColumns + ` FROM rowrun.task_run p
    WHERE p.status = 'PENDING' AND p.judge_at IS NOT NULL AND p.plan_id IS NULL AND p.database_id IS NULL
      AND coalesce(p.hold, '') NOT IN ('READY', 'PAUSED', 'REPLICA')`

const availableRuns = `
    SELECT ` + filterColumns + ` FROM rowrun.task_run p WHERE p.status = 'AVAILABLE'`

const runningRuns = `
    SELECT ` + filterColumns + ` FROM rowrun.task_run p WHERE p.status = 'RUNNING'`

const filterColumns = `p.id, p.task_id, p.plan_id, p.type, p.queue, p.database_id`

// ListRuns reads runs, the newest first. A filter on a status that isn't final reads only runs that haven't ended, one
// on a plan only that plan's; any other reads runs from the newest on until it has found enough of them.
func (s *Store) ListRuns(ctx context.Context, f RunFilter) ([]Run, error) {
	where, args, err := s.conditions(ctx, f)
	if err != nil {
		return nil, err
	}
	// The limit is text, as a parameter would be taken for a tenth of the table.
	limit := " LIMIT " + strconv.Itoa(f.Limit)
	var ids, order string
	switch source := unfinished(f.Statuses); {
	case f.FailedForGood:
		ids = "SELECT p.run_id FROM rowrun.failed_run p" + where + " ORDER BY p.finished_at DESC" + limit
		order = "r.finished_at DESC, r.id DESC"
	case source != "":
		ids = "WITH w AS MATERIALIZED (" + source + ") SELECT p.id FROM w p" + where + " ORDER BY p.id DESC" + limit
		order = "r.id DESC"
	default:
		ids = "SELECT p.id FROM rowrun.task_run p" + where + " ORDER BY p.id DESC" + limit
		order = "r.id DESC"
	}
	q := `-- list_runs
SELECT ` + runColumns + `
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
WHERE r.id = ANY (ARRAY(` + ids + `))
ORDER BY ` + order
	rows, err := s.pool.Query(ctx, q, args...)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	runs, err := pgx.CollectRows(rows, pgx.RowToStructByName[Run])
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return runs, nil
}

// conditions is the filter as SQL on p.
func (s *Store) conditions(ctx context.Context, f RunFilter) (string, []any, error) {
	var parts []string
	var args []any
	add := func(condition string, value any) {
		args = append(args, value)
		parts = append(parts, fmt.Sprintf(condition, len(args)))
	}
	if len(f.Statuses) > 0 && !f.FailedForGood && unfinished(f.Statuses) == "" {
		// Spelled out, so that the planner knows how many there are.
		var quoted []string
		for _, status := range f.Statuses {
			quoted = append(quoted, "'"+strings.ReplaceAll(status, "'", "''")+"'")
		}
		parts = append(parts, "p.status IN ("+strings.Join(quoted, ", ")+")")
	}
	if f.Type != "" {
		add("p.type = $%d", f.Type)
	}
	if f.Queue != "" {
		add("p.queue = $%d", f.Queue)
	}
	if f.DatabaseID != "" {
		add("p.database_id = $%d", f.DatabaseID)
	}
	if f.PlanID != nil {
		// The index by task also serves its plan.
		add("p.plan_id IS NOT NULL AND p.task_id = ANY (ARRAY(SELECT t.id FROM rowrun.task t WHERE t.plan_id = $%d))", *f.PlanID)
	}
	if f.Task != "" {
		tasks, ofPlans, err := s.findTasks(ctx, f.Task)
		if err != nil {
			return "", nil, err
		}
		if ofPlans {
			parts = append(parts, "p.plan_id IS NOT NULL")
		}
		add("p.task_id = ANY ($%d)", tasks)
	}
	if len(parts) == 0 {
		return "", nil, nil
	}
	return " WHERE " + strings.Join(parts, " AND "), args, nil
}

// unfinished is SQL for the runs of these statuses, "" where one of them is final or none was given.
func unfinished(statuses []string) string {
	var parts []string
	for _, status := range slices.Compact(slices.Sorted(slices.Values(statuses))) {
		switch status {
		case "PENDING":
			parts = append(parts, pendingRuns)
		case "AVAILABLE":
			parts = append(parts, availableRuns)
		case "RUNNING":
			parts = append(parts, runningRuns)
		default:
			return ""
		}
	}
	return strings.Join(parts, "\n    UNION ALL")
}

// findTasks gives the ids of the tasks of that id or name, and whether all of them belong to plans.
func (s *Store) findTasks(ctx context.Context, task string) (ids []int64, ofPlans bool, err error) {
	const byID = `-- find_task
SELECT id, plan_id IS NOT NULL FROM rowrun.task WHERE id = $1`
	const byName = `-- find_tasks_by_name
SELECT id, plan_id IS NOT NULL FROM rowrun.task WHERE name = $1`
	q, key := byName, any(task)
	if id, err := strconv.ParseInt(task, 10, 64); err == nil {
		q, key = byID, id
	}
	rows, err := s.pool.Query(ctx, q, key)
	if err != nil {
		return nil, false, fmt.Errorf("find task: %w", err)
	}
	ofPlans = true
	ids, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (id int64, err error) {
		var ofPlan bool
		err = row.Scan(&id, &ofPlan)
		ofPlans = ofPlans && ofPlan
		return id, err
	})
	if err != nil {
		return nil, false, fmt.Errorf("find task: %w", err)
	}
	if len(ids) == 0 {
		return nil, false, fmt.Errorf("%q: %w", task, ErrNoTask)
	}
	return ids, ofPlans, nil
}
