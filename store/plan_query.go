package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// Plan is a plan with its status and how many of its tasks have which.
type Plan struct {
	ID            int64     `json:"plan_id"`
	Project       string    `json:"project"`
	Name          string    `json:"name"`
	Status        string    `json:"status"`
	Paused        bool      `json:"paused"`
	ParallelLimit *int      `json:"parallel_limit"` // nil: none
	OnFailure     string    `json:"on_failure"`
	Round         int       `json:"round"`
	CreatedAt     time.Time `json:"created_at"`
	Tasks         int64     `json:"tasks"`
	NotStarted    int64     `json:"not_started"`
	Pending       int64     `json:"pending"`
	Available     int64     `json:"available"`
	Running       int64     `json:"running"`
	Done          int64     `json:"done"`
	Skipped       int64     `json:"skipped"`
	Failed        int64     `json:"failed"`
	Canceled      int64     `json:"canceled"`
}

// Ended says that nothing happens in the plan any more before somebody acts, or that one of its tasks failed for good.
func (p Plan) Ended() bool {
	return p.Status == "DONE" || p.Status == "FAILED" || p.Status == "CANCELED"
}

// The status is asked plan by plan, from the newest on: OFFSET 0 keeps the planner from computing all of them first.
const plansWithStatus = `
SELECT p.id, p.project, p.name, s.status, p.paused, p.parallel_limit, p.on_failure, p.round, p.created_at,
       s.tasks, s.not_started, s.pending, s.available, s.running, s.done, s.skipped, s.failed, s.canceled
FROM rowrun.plan p CROSS JOIN LATERAL (SELECT * FROM rowrun.plan_status x WHERE x.plan_id = p.id OFFSET 0) s`

// FindPlan reads one plan. ErrNotFound: there is none of that id.
func (s *Store) FindPlan(ctx context.Context, id int64) (Plan, error) {
	const q = `-- find_plan` + plansWithStatus + `
WHERE p.id = $1`
	rows, err := s.pool.Query(ctx, q, id)
	if err != nil {
		return Plan{}, fmt.Errorf("read plan: %w", err)
	}
	plan, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Plan])
	if errors.Is(err, pgx.ErrNoRows) {
		return Plan{}, fmt.Errorf("plan %d: %w", id, ErrNotFound)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("read plan: %w", err)
	}
	return plan, nil
}

// PlanFilter says which plans are asked for; what is left empty holds for all.
type PlanFilter struct {
	Project string
	// Statuses are one or several of a plan's seven.
	Statuses []string
	// Limit is the most plans to return. Required.
	Limit int
}

// ListPlans reads plans, the newest first. One on a status reads plans until it has found enough of them.
func (s *Store) ListPlans(ctx context.Context, f PlanFilter) ([]Plan, error) {
	// The limit is text, as a parameter would be taken for a tenth of the table.
	q := `-- list_plans` + plansWithStatus + `
WHERE ($1 = '' OR p.project = $1) AND ($2::text[] IS NULL OR s.status = ANY ($2))
ORDER BY p.id DESC LIMIT ` + strconv.Itoa(f.Limit)
	rows, err := s.pool.Query(ctx, q, f.Project, f.Statuses)
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	plans, err := pgx.CollectRows(rows, pgx.RowToStructByName[Plan])
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	return plans, nil
}

// PlanTask is a task of a plan, with the tasks that it depends on.
type PlanTask struct {
	Task
	DependsOn []int64 `json:"depends_on"`
}

// PlanTasks reads the tasks of a plan by version, those without one first, and by id; at most limit of them.
func (s *Store) PlanTasks(ctx context.Context, id int64, limit int) ([]PlanTask, error) {
	q := `-- plan_tasks
SELECT ` + taskColumns + `,
    ARRAY(SELECT d.depends_on_id FROM rowrun.task_dependency d WHERE d.task_id = k.id ORDER BY 1) AS depends_on
FROM rowrun.task k ` + taskStatus + `
WHERE k.plan_id = $1
ORDER BY k.version_key NULLS FIRST, k.id LIMIT ` + strconv.Itoa(limit)
	rows, err := s.pool.Query(ctx, q, id)
	if err != nil {
		return nil, fmt.Errorf("read tasks of plan: %w", err)
	}
	tasks, err := pgx.CollectRows(rows, pgx.RowToStructByName[PlanTask])
	if err != nil {
		return nil, fmt.Errorf("read tasks of plan: %w", err)
	}
	return tasks, nil
}

// WaitingRuns tells why runs are not running, as Waiting does for one: a page of them, as all are asked at once.
func (s *Store) WaitingRuns(ctx context.Context, ids []int64) ([]Cause, error) {
	const q = `-- waiting_runs
SELECT run_id, cause, message, detail FROM rowrun.waits_for($1)`
	rows, err := s.pool.Query(ctx, q, ids)
	if err != nil {
		return nil, fmt.Errorf("ask what runs wait for: %w", err)
	}
	causes, err := pgx.CollectRows(rows, pgx.RowToStructByName[Cause])
	if err != nil {
		return nil, fmt.Errorf("ask what runs wait for: %w", err)
	}
	return causes, nil
}
