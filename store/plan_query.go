package store

import (
	"context"
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

// FindPlan reads one plan. ErrNotFound: there is none of that id.
func (s *Store) FindPlan(ctx context.Context, id int64) (Plan, error) {
	return find(ctx, s, "plan", statement("find_plan"), pgx.RowToStructByName[Plan], id)
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
	return collectPlanned(ctx, s, "list plans", statement("list_plans"), pgx.RowToStructByName[Plan], f.Project, list(f.Statuses), f.Limit)
}

// PlanTask is a task of a plan, with the tasks that it depends on.
type PlanTask struct {
	Task
	DependsOn []int64 `json:"depends_on"`
}

// PlanTasks reads the tasks of a plan by version, those without one first, and by id; at most limit of them.
func (s *Store) PlanTasks(ctx context.Context, id int64, limit int) ([]PlanTask, error) {
	return collectPlanned(ctx, s, "read tasks of plan", statement("plan_tasks"), pgx.RowToStructByName[PlanTask], id, limit)
}

// WaitingRuns tells why runs are not running, as Waiting does for one: a page of them, as all are asked at once.
func (s *Store) WaitingRuns(ctx context.Context, ids []int64) ([]Cause, error) {
	return collect(ctx, s, "ask what runs wait for", statement("waiting_runs"), pgx.RowToStructByName[Cause], ids)
}
