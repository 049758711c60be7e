package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
)

// Task is a task with the status of its newest run.
type Task struct {
	ID         int64     `json:"task_id"`
	PlanID     *int64    `json:"plan_id"` // nil: a definition
	Name       string    `json:"name"`
	Type       string    `json:"type"`
	Queue      string    `json:"queue"`
	DatabaseID *string   `json:"database_id"`
	Version    *string   `json:"version"`
	Sequential bool      `json:"sequential"`
	Priority   int       `json:"priority"`
	Paused     bool      `json:"paused"`
	Skipped    bool      `json:"skipped"`
	SkipReason *string   `json:"skip_reason"`
	CreatedAt  time.Time `json:"created_at"`
	Status     string    `json:"status"`      // NOT_STARTED, SKIPPED or one of a run's
	LastRunID  *int64    `json:"last_run_id"` // nil: it has none
	Code       *string   `json:"code"`        // of that run
	Detail     *string   `json:"detail"`      // of that run, at most 4,096 characters
}

// TaskDetails is a task with its documents, and with what only a close look asks for.
type TaskDetails struct {
	Task
	TimeoutMS         *float64        `json:"timeout_ms"`          // nil: the sidecar's default; 0: none
	ProgressTimeoutMS *float64        `json:"progress_timeout_ms"` // nil: none
	MaxAttempts       int             `json:"max_attempts"`
	RetryDelayMS      float64         `json:"retry_delay_ms"`
	OnStale           string          `json:"on_stale"`
	RetentionMS       *float64        `json:"retention_ms"`        // nil: the sidecar's; 0: kept for ever
	RetentionByStatus json.RawMessage `json:"retention_by_status"` // goes before it; nil: nothing does
	FailureLogLevel   string          `json:"failure_log_level"`
	AgingMS           *float64        `json:"aging_ms"` // in how long the priority of a run that waits grows by one; nil: it doesn't
	Schedule          *string         `json:"schedule"` // when it recurs; nil: it doesn't
	TimeZone          string          `json:"time_zone"`
	Misfire           string          `json:"misfire"`
	Overlap           string          `json:"overlap"`
	StartsAt          *time.Time      `json:"starts_at"`      // nil: no tick is too early
	EndsAt            *time.Time      `json:"ends_at"`        // nil: none is too late
	ScheduleError     *string         `json:"schedule_error"` // why its schedule was paused by itself; nil: it wasn't
	SpreadMS          *float64        `json:"spread_ms"`      // by how much at most the runs of its ticks are put off; nil: by nothing
	DependsOn         []int64         `json:"depends_on"`     // tasks of its plan
	NeededBy          []int64         `json:"needed_by"`      // tasks of its plan that depend on it
	Payload           json.RawMessage `json:"payload"`
	Labels            json.RawMessage `json:"labels"`
}

// FindTask reads one task. ErrNotFound: there is none of that id.
func (s *Store) FindTask(ctx context.Context, id int64) (TaskDetails, error) {
	return find(ctx, s, "task", statement("find_task_details"), pgx.RowToStructByName[TaskDetails], id)
}

// TaskFilter says which tasks are asked for; what is left empty holds for all.
type TaskFilter struct {
	PlanID *int64
	// Definitions asks for tasks without a plan.
	Definitions bool
	Name        string
	Type        string
	// Statuses are one or several of a task's eight.
	Statuses []string
	// Limit is the most tasks to return. Required.
	Limit int
}

// ListTasks reads tasks, the newest first. One on a status reads tasks until it has found enough of them.
func (s *Store) ListTasks(ctx context.Context, f TaskFilter) ([]Task, error) {
	return collectPlanned(ctx, s, "list tasks", statement("list_tasks"), pgx.RowToStructByName[Task],
		f.PlanID, f.Definitions, f.Name, f.Type, list(f.Statuses), f.Limit)
}
