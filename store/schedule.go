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
	const q = `-- sweep_schedules
SELECT coalesce(last_id, 0), made FROM rowrun.schedule_sweep($1, $2)`
	if err := s.pool.QueryRow(ctx, q, after, most).Scan(&last, &made); err != nil {
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
	StartsAt *time.Time `json:"starts_at"`
	EndsAt   *time.Time `json:"ends_at"`
	Paused   bool       `json:"paused"`
	Error    *string    `json:"schedule_error"` // why it was paused by itself; nil: it wasn't
	RunID    *int64     `json:"run_id"`         // nil: none comes
	Tick     *time.Time `json:"tick"`
	RunAt    *time.Time `json:"run_at"`
	Status   *string    `json:"status"` // of that run: PENDING, AVAILABLE or RUNNING
}

const scheduleColumns = `k.id, k.name, k.schedule, k.time_zone, k.misfire, k.overlap, k.starts_at, k.ends_at, k.paused,
    k.schedule_error, r.id AS run_id, r.tick, r.run_at, r.status`

// ListSchedules reads recurring tasks, the newest first, at most limit.
func (s *Store) ListSchedules(ctx context.Context, limit int) ([]Schedule, error) {
	const q = `-- list_schedules
SELECT ` + scheduleColumns + `
FROM rowrun.task k
LEFT JOIN rowrun.task_run r ON r.task_id = k.id AND r.tick IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
WHERE k.schedule IS NOT NULL
ORDER BY k.id DESC LIMIT $1`
	return s.schedules(ctx, q, limit)
}

// NextSchedules reads those of which a run waits, by its time, at most limit.
func (s *Store) NextSchedules(ctx context.Context, limit int) ([]Schedule, error) {
	const q = `-- next_schedules
SELECT ` + scheduleColumns + `
FROM rowrun.task_run r
JOIN rowrun.task k ON k.id = r.task_id
WHERE r.tick IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND coalesce(r.status, '') = 'PENDING' AND k.schedule IS NOT NULL
ORDER BY r.run_at, r.id LIMIT $1`
	return s.schedules(ctx, q, limit)
}

func (s *Store) schedules(ctx context.Context, q string, limit int) ([]Schedule, error) {
	rows, err := s.pool.Query(ctx, q, limit)
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Schedule])
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	return found, nil
}

// FindSchedule reads one. ErrNotFound: there is no task of that id, or it doesn't recur.
func (s *Store) FindSchedule(ctx context.Context, taskID int64) (Schedule, error) {
	const q = `-- find_schedule
SELECT ` + scheduleColumns + `
FROM rowrun.task k
LEFT JOIN rowrun.task_run r ON r.task_id = k.id AND r.tick IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
WHERE k.id = $1 AND k.schedule IS NOT NULL`
	rows, err := s.pool.Query(ctx, q, taskID)
	if err != nil {
		return Schedule{}, fmt.Errorf("read schedule: %w", err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Schedule])
	if errors.Is(err, pgx.ErrNoRows) {
		return Schedule{}, fmt.Errorf("schedule of task %d: %w", taskID, ErrNotFound)
	}
	if err != nil {
		return Schedule{}, fmt.Errorf("read schedule: %w", err)
	}
	return found, nil
}

// Ticks reads up to limit moments to come of one schedule; of a fixed delay only the next, the others aren't known.
func (s *Store) Ticks(ctx context.Context, taskID int64, limit int) ([]time.Time, error) {
	const q = `-- next_ticks
WITH RECURSIVE k AS MATERIALIZED (
    SELECT t.schedule_parts, t.time_zone, coalesce(t.starts_at, t.created_at) AS grid, coalesce(t.ends_at, 'infinity') AS ends_at,
           coalesce(r.tick, rowrun.tick_after(t.schedule_parts, t.time_zone, greatest(clock_timestamp(), t.starts_at), coalesce(t.starts_at, t.created_at))) AS first
    FROM rowrun.task t
    LEFT JOIN rowrun.task_run r ON r.task_id = t.id AND r.tick IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
        AND coalesce(r.status, '') = 'PENDING'
    WHERE t.id = $1
), n AS (
    SELECT 1 AS i, k.first AS at FROM k
    UNION ALL
    SELECT n.i + 1, rowrun.tick_after(k.schedule_parts, k.time_zone, n.at, k.grid) FROM n, k
    WHERE n.i < $2 AND n.at <= k.ends_at AND cardinality(k.schedule_parts) <> 2
)
SELECT n.at FROM n, k WHERE n.at <= k.ends_at ORDER BY n.i`
	rows, err := s.pool.Query(ctx, q, taskID, limit)
	if err != nil {
		return nil, fmt.Errorf("read ticks: %w", err)
	}
	ticks, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return nil, fmt.Errorf("read ticks: %w", err)
	}
	return ticks, nil
}

// RunNow inserts a run of a task beside its schedule; its id.
func (s *Store) RunNow(ctx context.Context, taskID int64) (int64, error) {
	const q = `-- run_now
SELECT rowrun.run_task($1::bigint)`
	var id int64
	if err := s.pool.QueryRow(ctx, q, taskID).Scan(&id); err != nil {
		return 0, fmt.Errorf("run task: %w", err)
	}
	return id, nil
}
