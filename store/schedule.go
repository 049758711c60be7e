package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// SweepSchedules makes the runs that recurring tasks should have and don't, for instance because rows were deleted or
// restored, of up to most tasks after one, by id. It returns the last task that it looked at, 0 behind the last of all,
// and how many runs it made. A schedule that can't be followed is paused, and the stream says so.
func (s *Store) SweepSchedules(ctx context.Context, after int64, most int) (last int64, made int, err error) {
	if err := s.pool.QueryRow(ctx, statement("sweep_schedules"), after, most).Scan(&last, &made); err != nil {
		return 0, 0, fmt.Errorf("sweep schedules: %w", err)
	}
	return last, made, nil
}

// Schedule is a task that recurs, with the run that stands for its present tick.
type Schedule struct {
	TaskID   int64      `json:"task_id"`
	Name     string     `json:"name"`
	Schedule string     `json:"schedule"`
	TimeZone string     `json:"time_zone"`
	Misfire  string     `json:"misfire"`
	Overlap  string     `json:"overlap"`
	SpreadMS *float64   `json:"spread_ms"` // by how much at most runs are put off; nil: by nothing
	StartsAt *time.Time `json:"starts_at"`
	EndsAt   *time.Time `json:"ends_at"`
	Paused   bool       `json:"paused"`
	Error    *string    `json:"schedule_error"` // why it was paused by itself; nil: it wasn't
	RunID    *int64     `json:"run_id"`         // nil: none comes
	Tick     *time.Time `json:"tick"`
	RunAt    *time.Time `json:"run_at"`
	Status   *string    `json:"status"` // of that run: PENDING, AVAILABLE or RUNNING
}

// ListSchedules reads recurring tasks, the newest first, at most limit.
func (s *Store) ListSchedules(ctx context.Context, limit int) ([]Schedule, error) {
	return s.schedules(ctx, statement("list_schedules"), limit)
}

// NextSchedules reads those of which a run waits, by its time, at most limit.
func (s *Store) NextSchedules(ctx context.Context, limit int) ([]Schedule, error) {
	return s.schedules(ctx, statement("next_schedules"), limit)
}

func (s *Store) schedules(ctx context.Context, q string, limit int) ([]Schedule, error) {
	return collect(ctx, s, "list schedules", q, pgx.RowToStructByPos[Schedule], limit)
}

// LabeledSchedule is a task that recurs, as one of its labels finds it.
type LabeledSchedule struct {
	TaskID         int64
	Name, Schedule string
}

// SchedulesLabeled reads the recurring tasks without a plan of which a label has that value, at most limit.
func (s *Store) SchedulesLabeled(ctx context.Context, key, value string, limit int) ([]LabeledSchedule, error) {
	return collect(ctx, s, "list schedules by a label", statement("schedules_labeled"), pgx.RowToStructByPos[LabeledSchedule], key, value, limit)
}

// FindSchedule reads one. ErrNotFound: there is no task of that id, or it doesn't recur.
func (s *Store) FindSchedule(ctx context.Context, taskID int64) (Schedule, error) {
	found, err := collectOne(ctx, s, "read schedule", statement("find_schedule"), pgx.RowToStructByPos[Schedule], taskID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Schedule{}, fmt.Errorf("schedule of task %d: %w", taskID, ErrNotFound)
	}
	return found, err
}

// Ticks reads up to limit moments to come of one schedule; of a fixed delay only the next, the others aren't known.
func (s *Store) Ticks(ctx context.Context, taskID int64, limit int) ([]time.Time, error) {
	return collect(ctx, s, "read ticks", statement("next_ticks"), pgx.RowTo[time.Time], taskID, limit)
}

// RunNow inserts a run of a task beside its schedule; its id.
func (s *Store) RunNow(ctx context.Context, taskID int64) (int64, error) {
	var id int64
	if err := s.pool.QueryRow(ctx, statement("run_now"), taskID).Scan(&id); err != nil {
		return 0, fmt.Errorf("run task: %w", err)
	}
	return id, nil
}
