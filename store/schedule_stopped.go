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
	const q = `-- stopped_schedules
SELECT k.id, k.name, coalesce(k.schedule, ''), k.schedule_error, rowrun.known_zone(k.time_zone)
FROM rowrun.task k WHERE k.schedule_error IS NOT NULL ORDER BY k.id LIMIT 100`
	return collect(ctx, s, "read stopped schedules", q, pgx.RowToStructByPos[StoppedSchedule])
}
