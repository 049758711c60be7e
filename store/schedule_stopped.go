package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// StoppedSchedule is a task whose schedule was paused by itself.
type StoppedSchedule struct {
	TaskID   int64
	Name     string
	Schedule string
	Error    string
	// KnownZone says that the server knows the task's time zone.
	KnownZone bool
}

// StoppedSchedules lists up to 100 tasks whose schedule was paused by itself, as it could not be followed any more.
func (s *Store) StoppedSchedules(ctx context.Context) ([]StoppedSchedule, error) {
	return collect(ctx, s, "read stopped schedules", statement("stopped_schedules"), pgx.RowToStructByPos[StoppedSchedule])
}
