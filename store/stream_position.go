package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// StreamPoint is a moment of the table: what was committed before it is visible in Snapshot.
type StreamPoint struct {
	At       time.Time // by the database's clock
	Snapshot string    // pg_snapshot as text; "": only At is known
}

// StreamPosition is how far the stream was written.
type StreamPosition struct {
	SystemID string
	Timeline int
	LSN      string // everything that committed before it was written; "": the stream was not read from the log
	Point    StreamPoint
}

// StreamMoment is a point together with the end of the log, which is not before it.
type StreamMoment struct {
	Point StreamPoint
	LSN   string
}

const streamMoment = `-- stream_moment
SELECT clock_timestamp(), pg_current_snapshot()::text, pg_current_wal_insert_lsn()::text`

// StreamMoment asks for the present one.
func (s *Store) StreamMoment(ctx context.Context) (StreamMoment, error) {
	var m StreamMoment
	if err := s.pool.QueryRow(ctx, streamMoment).Scan(&m.Point.At, &m.Point.Snapshot, &m.LSN); err != nil {
		return StreamMoment{}, fmt.Errorf("read the end of the log: %w", err)
	}
	return m, nil
}

// RecordStreamPosition writes how far the stream was written: the newest of each minute is kept, for a week.
func (s *Store) RecordStreamPosition(ctx context.Context, p StreamPosition) error {
	const q = `-- record_stream_position
WITH old AS (
    DELETE FROM rowrun.stream_position WHERE minute < date_trunc('minute', $4::timestamptz) - interval '7 days'
)
INSERT INTO rowrun.stream_position (minute, system_id, timeline, lsn, at, snapshot)
VALUES (date_trunc('minute', $4::timestamptz), $1, $2, nullif($3::text, '')::pg_lsn, $4, $5::text::pg_snapshot)
ON CONFLICT (minute) DO UPDATE SET system_id = excluded.system_id, timeline = excluded.timeline, lsn = excluded.lsn,
    at = excluded.at, snapshot = excluded.snapshot`
	if _, err := s.pool.Exec(ctx, q, p.SystemID, p.Timeline, p.LSN, p.Point.At, p.Point.Snapshot); err != nil {
		return fmt.Errorf("record the stream's position: %w", err)
	}
	return nil
}

// LastStreamPosition is the newest that was recorded; nil where none was.
func (s *Store) LastStreamPosition(ctx context.Context) (*StreamPosition, error) {
	const q = `-- last_stream_position
SELECT system_id, timeline, coalesce(lsn::text, ''), at, snapshot::text FROM rowrun.stream_position ORDER BY minute DESC LIMIT 1`
	return s.streamPosition(ctx, q)
}

// StreamPositionAt is the newest recorded one that is not behind lsn; nil where there is none.
func (s *Store) StreamPositionAt(ctx context.Context, lsn string) (*StreamPosition, error) {
	const q = `-- stream_position_at
SELECT system_id, timeline, coalesce(lsn::text, ''), at, snapshot::text FROM rowrun.stream_position
WHERE lsn <= $1::text::pg_lsn ORDER BY lsn DESC, minute DESC LIMIT 1`
	return s.streamPosition(ctx, q, lsn)
}

func (s *Store) streamPosition(ctx context.Context, q string, args ...any) (*StreamPosition, error) {
	var p StreamPosition
	err := s.pool.QueryRow(ctx, q, args...).Scan(&p.SystemID, &p.Timeline, &p.LSN, &p.Point.At, &p.Point.Snapshot)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the stream's position: %w", err)
	}
	return &p, nil
}

// TaskLabel is what the stream tells of a task beside its runs.
type TaskLabel struct {
	Name            string
	FailureLogLevel string // debug, info, warn or error
}

// TaskLabels reads what the stream tells of tasks. Those that have been removed are missing.
func (s *Store) TaskLabels(ctx context.Context, ids []int64) (map[int64]TaskLabel, error) {
	const q = `-- task_labels
SELECT id, name, failure_log_level FROM rowrun.task WHERE id = ANY ($1)`
	rows, err := s.pool.Query(ctx, q, ids)
	if err != nil {
		return nil, fmt.Errorf("read labels of tasks: %w", err)
	}
	labels := make(map[int64]TaskLabel, len(ids))
	var id int64
	var label TaskLabel
	if _, err := pgx.ForEachRow(rows, []any{&id, &label.Name, &label.FailureLogLevel}, func() error {
		labels[id] = label
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read labels of tasks: %w", err)
	}
	return labels, nil
}

// Look wakes every replica that listens, as an INSERT would. The notification is all that is lost in a crash, so that
// the commit waits for no disk.
func (s *Store) Look(ctx context.Context) error {
	const q = `-- look
SELECT set_config('synchronous_commit', 'off', true), CASE WHEN rowrun.may_notify() THEN pg_notify('rowrun_task_run', '[]') END`
	if _, err := s.pool.Exec(ctx, q); err != nil {
		return fmt.Errorf("wake replicas: %w", err)
	}
	return nil
}
