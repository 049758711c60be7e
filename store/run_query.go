package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

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
	// Sample allows other runs than the newest where many wait, which costs less. It is for statuses of which none is final.
	Sample bool
}

// ErrNoTask says that the task that a filter names doesn't exist.
var ErrNoTask = errors.New("there is no such task")

// ListRuns reads runs, the newest first. A filter on a status that isn't final reads only runs that haven't ended, and where many wait first
// listedAmongNewest of any; one on a plan reads only that plan's; any other reads runs from the newest on until it has found enough of them.
func (s *Store) ListRuns(ctx context.Context, f RunFilter) ([]Run, error) {
	var tasks []int64 // nil: of all tasks
	ofPlans := false
	if f.Task != "" {
		var err error
		if tasks, ofPlans, err = s.findTasks(ctx, f.Task); err != nil {
			return nil, err
		}
	}
	args := []any{f.Type, f.Queue, f.DatabaseID, f.PlanID, tasks, ofPlans, f.Limit}
	collect := func(q string, more ...any) ([]Run, error) {
		return collectPlanned(ctx, s, "list runs", q, pgx.RowToStructByName[Run], append(args, more...)...)
	}
	switch {
	case f.FailedForGood:
		return collect(statement("list_failed_runs"))
	case unfinished(f.Statuses):
		many, err := s.manyWait(ctx)
		if err != nil {
			return nil, err
		}
		if many {
			newest, err := collect(statement("list_runs"), f.Statuses, listedAmongNewest)
			if err != nil || len(newest) == f.Limit {
				return newest, err
			}
		}
		var most any // nil: all are read
		if f.Sample {
			most = waitingIsMany
		}
		return collect(statement("list_unfinished_runs"), f.Statuses, most)
	}
	return collect(statement("list_runs"), list(f.Statuses), nil)
}

const (
	// waitingIsMany is from how many runs on that are PENDING, or AVAILABLE, reading all of them is put off: it takes 1 s for a million.
	waitingIsMany = 10_000
	// listedAmongNewest is among how many of the newest runs they are looked for then first.
	listedAmongNewest = 100_000
)

// manyWait says that more runs are PENDING or AVAILABLE than are read for a list.
func (s *Store) manyWait(ctx context.Context) (bool, error) {
	var n Status
	err := s.pool.QueryRow(ctx, statement("status_counts"), waitingIsMany).Scan(&n.Pending, &n.Available, &n.Running, &n.FailedLastDay, &n.StreamWriter, &n.NotifyQueue)
	if err != nil {
		return false, fmt.Errorf("count runs: %w", err)
	}
	return n.Pending >= waitingIsMany || n.Available >= waitingIsMany, nil
}

// unfinished says that statuses are given and none of them is final.
func unfinished(statuses []string) bool {
	final := func(status string) bool { return status != "PENDING" && status != "AVAILABLE" && status != "RUNNING" }
	return len(statuses) > 0 && !slices.ContainsFunc(statuses, final)
}

// findTasks gives the ids of the tasks of that id or name, and whether all of them belong to plans.
func (s *Store) findTasks(ctx context.Context, task string) (ids []int64, ofPlans bool, err error) {
	q, key := statement("find_tasks_by_name"), any(task)
	if id, err := strconv.ParseInt(task, 10, 64); err == nil {
		q, key = statement("find_task"), id
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
