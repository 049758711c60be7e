package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// StandbysFirst says that the server had synchronized_standby_slots set then (PostgreSQL 17 and later): what was written these standbys had.
	// RecordStreamPosition finds it out.
	StandbysFirst bool
}

// StreamMoment is a point together with the end of the log, which is not before it.
type StreamMoment struct {
	Point StreamPoint
	LSN   string
}

// StreamMoment asks for the present one.
func (s *Store) StreamMoment(ctx context.Context) (StreamMoment, error) {
	var m StreamMoment
	if err := s.pool.QueryRow(ctx, statement("stream_moment")).Scan(&m.Point.At, &m.Point.Snapshot, &m.LSN); err != nil {
		return StreamMoment{}, fmt.Errorf("read the end of the log: %w", err)
	}
	return m, nil
}

// RecordStreamPosition writes how far the stream was written: the newest of each second is kept (see ThinStreamPositions).
func (s *Store) RecordStreamPosition(ctx context.Context, p StreamPosition) error {
	if _, err := s.pool.Exec(ctx, statement("record_stream_position"), p.SystemID, p.Timeline, p.LSN, p.Point.At, p.Point.Snapshot); err != nil {
		return fmt.Errorf("record the stream's position: %w", err)
	}
	return nil
}

// ThinStreamPositions keeps of what was recorded more than an hour ago the newest of each minute, and nothing beyond a
// week before the newest of all.
func (s *Store) ThinStreamPositions(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, statement("thin_stream_positions")); err != nil {
		return fmt.Errorf("thin out the stream's positions: %w", err)
	}
	return nil
}

// StreamHandover is how far a replica that stops has written the stream from rows: all that was committed before Point,
// and of what came since the ranks of Runs (1 PENDING to 4, its end). Of runs with ids that are Unseen (ascending) nothing is written.
type StreamHandover struct {
	Point  StreamPoint
	Runs   map[int64]uint8
	Unseen []Span
}

// LeaveStream leaves it to whoever writes next. Only the holder of the lock calls it.
func (s *Store) LeaveStream(ctx context.Context, h *StreamHandover) error {
	ids, ranks := make([]int64, 0, len(h.Runs)), make([]byte, 0, len(h.Runs))
	for id, rank := range h.Runs {
		ids, ranks = append(ids, id), append(ranks, '0'+rank)
	}
	unseen := make([]int64, 0, 2*len(h.Unseen))
	for _, span := range h.Unseen {
		unseen = append(unseen, span.Low, span.High)
	}
	if _, err := s.pool.Exec(ctx, statement("leave_stream"), h.Point.At, h.Point.Snapshot, ids, string(ranks), unseen); err != nil {
		return fmt.Errorf("leave the stream to the next writer: %w", err)
	}
	return nil
}

// TakeStream takes what a former writer has left, once; nil: nothing. Only the holder of the lock calls it.
func (s *Store) TakeStream(ctx context.Context, writer string) (*StreamHandover, error) {
	h := &StreamHandover{}
	var ids, unseen []int64
	var ranks string
	err := s.pool.QueryRow(ctx, statement("take_stream"), writer).Scan(&h.Point.At, &h.Point.Snapshot, &ids, &ranks, &unseen)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("take the stream from its last writer: %w", err)
	}
	h.Runs = make(map[int64]uint8, len(ids))
	for i := range min(len(ids), len(ranks)) {
		h.Runs[ids[i]] = ranks[i] - '0'
	}
	for bounds := range slices.Chunk(unseen[:len(unseen)/2*2], 2) {
		h.Unseen = append(h.Unseen, Span{Low: bounds[0], High: bounds[1]})
	}
	return h, nil
}

// LastStreamPosition is the newest that was recorded; nil where none was.
func (s *Store) LastStreamPosition(ctx context.Context) (*StreamPosition, error) {
	return s.streamPosition(ctx, statement("last_stream_position"))
}

// StreamPositionAt is the newest recorded one that is not behind lsn; nil where there is none.
func (s *Store) StreamPositionAt(ctx context.Context, lsn string) (*StreamPosition, error) {
	return s.streamPosition(ctx, statement("stream_position_at"), lsn)
}

func (s *Store) streamPosition(ctx context.Context, q string, args ...any) (*StreamPosition, error) {
	var p StreamPosition
	err := s.pool.QueryRow(ctx, q, args...).Scan(&p.SystemID, &p.Timeline, &p.LSN, &p.Point.At, &p.Point.Snapshot, &p.StandbysFirst)
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
	rows, err := s.pool.Query(ctx, statement("task_labels"), ids)
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
	if _, err := s.pool.Exec(ctx, statement("look")); err != nil {
		return fmt.Errorf("wake replicas: %w", err)
	}
	return nil
}
