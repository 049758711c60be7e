package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
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

const taskColumns = `k.id, k.plan_id, k.name, k.type, k.queue, k.database_id, k.version, k.sequential, k.priority, k.paused,
    k.skipped, k.skip_reason, k.created_at, s.status, s.last_run_id, s.result ->> 'code' AS code,
    left(s.result ->> 'detail', 4096) AS detail`

// As for plans: task by task.
const taskStatus = `CROSS JOIN LATERAL (SELECT x.status, x.last_run_id, x.result FROM rowrun.task_status x
                    WHERE x.task_id = k.id OFFSET 0) s`

// TaskDetails is a task with its documents, and with what only a close look asks for.
type TaskDetails struct {
	Task
	TimeoutMS         *float64        `json:"timeout_ms"`          // nil: the sidecar's default; 0: none
	ProgressTimeoutMS *float64        `json:"progress_timeout_ms"` // nil: none
	MaxAttempts       int             `json:"max_attempts"`
	RetryDelayMS      float64         `json:"retry_delay_ms"`
	OnStale           string          `json:"on_stale"`
	RetentionMS       *float64        `json:"retention_ms"` // nil: the sidecar's; 0: kept for ever
	FailureLogLevel   string          `json:"failure_log_level"`
	DependsOn         []int64         `json:"depends_on"` // tasks of its plan
	NeededBy          []int64         `json:"needed_by"`  // tasks of its plan that depend on it
	Payload           json.RawMessage `json:"payload"`
	Labels            json.RawMessage `json:"labels"`
}

// FindTask reads one task. ErrNotFound: there is none of that id.
func (s *Store) FindTask(ctx context.Context, id int64) (TaskDetails, error) {
	const q = `-- find_task_details
SELECT ` + taskColumns + `,
    (extract(epoch FROM k.timeout) * 1000)::float8 AS timeout_ms,
    (extract(epoch FROM k.progress_timeout) * 1000)::float8 AS progress_timeout_ms, k.max_attempts,
    (extract(epoch FROM k.retry_delay) * 1000)::float8 AS retry_delay_ms, k.on_stale,
    (extract(epoch FROM k.retention) * 1000)::float8 AS retention_ms, k.failure_log_level,
    ARRAY(SELECT d.depends_on_id FROM rowrun.task_dependency d WHERE d.task_id = k.id ORDER BY 1) AS depends_on,
    ARRAY(SELECT d.task_id FROM rowrun.task_dependency d WHERE d.depends_on_id = k.id ORDER BY 1) AS needed_by,
    k.payload, k.labels
FROM rowrun.task k ` + taskStatus + `
WHERE k.id = $1`
	rows, err := s.pool.Query(ctx, q, id)
	if err != nil {
		return TaskDetails{}, fmt.Errorf("read task: %w", err)
	}
	task, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[TaskDetails])
	if errors.Is(err, pgx.ErrNoRows) {
		return TaskDetails{}, fmt.Errorf("task %d: %w", id, ErrNotFound)
	}
	if err != nil {
		return TaskDetails{}, fmt.Errorf("read task: %w", err)
	}
	return task, nil
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
	var parts []string
	var args []any
	add := func(condition string, value any) {
		args = append(args, value)
		parts = append(parts, fmt.Sprintf(condition, len(args)))
	}
	if f.PlanID != nil {
		add("k.plan_id = $%d", *f.PlanID)
	}
	if f.Definitions {
		parts = append(parts, "k.plan_id IS NULL")
	}
	if f.Name != "" {
		add("k.name = $%d", f.Name)
	}
	if f.Type != "" {
		add("k.type = $%d", f.Type)
	}
	if len(f.Statuses) > 0 {
		add("s.status = ANY ($%d)", f.Statuses)
	}
	where := ""
	if len(parts) > 0 {
		where = "\nWHERE " + strings.Join(parts, " AND ")
	}
	q := `-- list_tasks
SELECT ` + taskColumns + `
FROM rowrun.task k ` + taskStatus + where + `
ORDER BY k.id DESC LIMIT ` + strconv.Itoa(f.Limit)
	rows, err := s.pool.Query(ctx, q, args...)
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	tasks, err := pgx.CollectRows(rows, pgx.RowToStructByName[Task])
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	return tasks, nil
}
