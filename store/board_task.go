package store

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
)

// BoardTask is a task in a list, with the status of its newest run.
type BoardTask struct {
	ID         int64   `json:"id,string"`
	PlanID     *int64  `json:"plan_id,string"`
	Plan       *string `json:"plan"`
	Name       string  `json:"name"`
	Type       string  `json:"type"`
	Queue      string  `json:"queue"`
	DatabaseID *string `json:"database_id"`
	Version    *string `json:"version"`
	Sequential bool    `json:"sequential"`
	Priority   int     `json:"priority"`
	Paused     bool    `json:"paused"`
	Skipped    bool    `json:"skipped"`
	SkipReason *string `json:"skip_reason"`
	CreatedAt  Instant `json:"created_at"`
	Status     string  `json:"status"`
	RunID      *int64  `json:"run_id,string"`
	Code       *string `json:"code"`
	Detail     *string `json:"detail"`
	Schedule   *string `json:"schedule"`
}

// TaskSearch is a filter of tasks, as rowrun.find_tasks takes it; what is left empty holds for all.
type TaskSearch struct {
	PlanID      int64    `json:"plan_id,omitempty"`
	Definitions bool     `json:"definitions,omitempty"` // those without a plan
	Name        string   `json:"q,omitempty"`           // a part of it
	Type        string   `json:"type,omitempty"`
	Statuses    []string `json:"statuses,omitempty"`
	DatabaseID  string   `json:"database_id,omitempty"`
	Version     string   `json:"version,omitempty"`
	Text        string   `json:"text,omitempty"`
	Error       string   `json:"error,omitempty"`
	Attention   bool     `json:"attention,omitempty"` // FAILED for good, CANCELED, or PENDING without a replica
}

// taskLook is how many tasks or deliveries one page looks at, taskStatusLook where the status of each task is asked for.
const (
	taskLook       = 5000
	taskStatusLook = 1000
)

// SearchTasks reads a page of tasks.
func (s *Store) SearchTasks(ctx context.Context, f TaskSearch, p Page) (Found[BoardTask], error) {
	look := taskLook
	switch {
	case f.PlanID != 0:
		look = MaxGrid
	case len(f.Statuses) > 0 || f.Text != "" || f.Error != "" || f.Attention:
		look = taskStatusLook
	}
	return search(ctx, s, "search tasks", statement("board_find_tasks"), statement("board_tasks"), pgx.RowToStructByPos[BoardTask], f, p, look,
		func(k BoardTask) int64 { return k.ID })
}

// BoardTaskDetails is a task with its documents.
type BoardTaskDetails struct {
	BoardTask
	TimeoutMS         *float64        `json:"timeout_ms"`
	ProgressTimeoutMS *float64        `json:"progress_timeout_ms"`
	MaxAttempts       int             `json:"max_attempts"`
	RetryDelayMS      float64         `json:"retry_delay_ms"`
	OnStale           string          `json:"on_stale"`
	RetentionMS       *float64        `json:"retention_ms"`
	DependsOn         []string        `json:"depends_on"`
	NeededBy          []string        `json:"needed_by"`
	Payload           json.RawMessage `json:"payload"`
	Labels            json.RawMessage `json:"labels"`
}

// FindBoardTask reads one task. ErrNotFound: there is none of that id.
func (s *Store) FindBoardTask(ctx context.Context, id int64) (BoardTaskDetails, error) {
	return find(ctx, s, "task", statement("board_task"), func(row pgx.CollectableRow) (BoardTaskDetails, error) {
		var d BoardTaskDetails
		k := &d.BoardTask
		err := row.Scan(&k.ID, &k.PlanID, &k.Plan, &k.Name, &k.Type, &k.Queue, &k.DatabaseID, &k.Version, &k.Sequential, &k.Priority, &k.Paused,
			&k.Skipped, &k.SkipReason, &k.CreatedAt, &k.Status, &k.RunID, &k.Code, &k.Detail, &k.Schedule,
			&d.TimeoutMS, &d.ProgressTimeoutMS, &d.MaxAttempts, &d.RetryDelayMS, &d.OnStale, &d.RetentionMS, &d.DependsOn, &d.NeededBy,
			&d.Payload, &d.Labels)
		return d, err
	}, id)
}

// BoardSchedule is a task that recurs.
type BoardSchedule struct {
	TaskID    int64         `json:"task_id,string"`
	Name      string        `json:"name"`
	Schedule  string        `json:"schedule"`
	TimeZone  string        `json:"time_zone"`
	Misfire   string        `json:"misfire"`
	Overlap   string        `json:"overlap"`
	StartsAt  *Instant      `json:"starts_at"`
	EndsAt    *Instant      `json:"ends_at"`
	Paused    bool          `json:"paused"`
	Error     *string       `json:"error"` // why it was paused by itself
	RunID     *int64        `json:"run_id,string"`
	RunStatus *string       `json:"run_status"`
	NextAt    *Instant      `json:"next_at"`
	Last      *BoardOutcome `json:"last"`
}

// BoardOutcome is how a run ended.
type BoardOutcome struct {
	RunID   int64    `json:"run_id,string"`
	Status  string   `json:"status"`
	EndedAt *Instant `json:"ended_at"`
	Code    *string  `json:"code"`
}

// BoardSchedules reads tasks that recur: the newest first behind an id, or (soonest) those whose next run comes soonest.
func (s *Store) BoardSchedules(ctx context.Context, p Page, soonest bool) ([]BoardSchedule, error) {
	_, highest := p.bounds()
	return collectPlanned(ctx, s, "list schedules", statement("board_schedules"), scanBoardSchedule, highest, p.Limit, soonest)
}

func scanBoardSchedule(row pgx.CollectableRow) (BoardSchedule, error) {
	var b BoardSchedule
	var last *int64
	var status *string
	var o BoardOutcome
	err := row.Scan(&b.TaskID, &b.Name, &b.Schedule, &b.TimeZone, &b.Misfire, &b.Overlap, &b.StartsAt, &b.EndsAt, &b.Paused, &b.Error,
		&b.RunID, &b.RunStatus, &b.NextAt, &last, &status, &o.EndedAt, &o.Code)
	if last != nil && status != nil {
		o.RunID, o.Status = *last, *status
		b.Last = &o
	}
	return b, err
}
