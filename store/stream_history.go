package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// streamStartTimeout bounds the part of OpenStream that is quick, whatever it is given for the other: the connection may be gone, or
// a table locked.
const streamStartTimeout = 10 * time.Second

var errStreamStart = errors.New("no answer within 10 s")

// StreamStart is where a reader of the stream begins: a moment of the table.
type StreamStart struct {
	// High is the highest id.
	High int64
	// Gaps are ranges of ids above 0 and below High without a row, ascending, at most 1,000 of them and among the last
	// 100,000 rows: transactions that are open may still fill them.
	Gaps []Span
	// Now is the moment by the database's clock.
	Now time.Time
	// Snapshot is what was committed then, as pg_snapshot does as text.
	Snapshot string
	// Last are the statuses of the last 65,536 runs, by id.
	Last map[int64]string
}

// Point is the moment with what was committed.
func (s *StreamStart) Point() StreamPoint { return StreamPoint{At: s.Now, Snapshot: s.Snapshot} }

// StreamPast is a transition that rows still tell of.
type StreamPast struct {
	StreamRow
	From, To  string // From is "" for an insert
	ReplicaID *string
}

// StreamHistory reads past transitions. Close it.
type StreamHistory struct{ source HistorySource }

// HistorySource is where a history comes from: the server's copy of it, or one that is simulated.
type HistorySource interface {
	Next(ctx context.Context, n int) ([]StreamPast, error)
	Close(ctx context.Context)
}

// NewStreamHistory is a history from elsewhere than a Store.
func NewStreamHistory(source HistorySource) *StreamHistory { return &StreamHistory{source} }

// Next reads up to n further transitions, in the order of their times; none: that was all.
func (h *StreamHistory) Next(ctx context.Context, n int) ([]StreamPast, error) {
	return h.source.Next(ctx, n)
}

// Close gives the copy of the history up.
func (h *StreamHistory) Close(ctx context.Context) { h.source.Close(ctx) }

// historyCursor is the server's copy of a history, which belongs to a connection.
type historyCursor struct{ conn *pgxpool.Conn }

// OpenStream reads where a reader of the stream begins. since above zero also asks for the transitions of the time
// before that moment, which is a sequential read of all runs: for a person's command. The history is nil otherwise.
func (s *Store) OpenStream(ctx context.Context, since time.Duration) (StreamStart, *StreamHistory, error) {
	return s.openStream(ctx, "", nil, func(now time.Time) *StreamPoint {
		if since <= 0 {
			return nil
		}
		return &StreamPoint{At: now.Add(-since)}
	})
}

// OpenStreamAt is OpenStream with the transitions since a point; nil: none. Of runs with one of the ids unseen, which ascend, it has
// all that their rows tell.
func (s *Store) OpenStreamAt(ctx context.Context, point *StreamPoint, unseen []Span) (StreamStart, *StreamHistory, error) {
	return s.openStream(ctx, "", unseen, func(time.Time) *StreamPoint { return point })
}

// OpenStreamBefore is the history of OpenStreamAt as a snapshot shows it that another session has exported.
func (s *Store) OpenStreamBefore(ctx context.Context, snapshot string, point *StreamPoint, unseen []Span) (*StreamHistory, error) {
	_, history, err := s.openStream(ctx, snapshot, unseen, func(time.Time) *StreamPoint { return point })
	return history, err
}

func (s *Store) openStream(ctx context.Context, snapshot string, unseen []Span, from func(now time.Time) *StreamPoint) (StreamStart, *StreamHistory, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return StreamStart{}, nil, fmt.Errorf("open stream: %w", err)
	}
	var point *StreamPoint
	var start StreamStart
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(streamStartTimeout, func() { cancel(errStreamStart) })
	defer late.Stop()
	// One snapshot for both: what the history doesn't have comes later. WITH HOLD lets the server keep the answer, so
	// that a slow reader holds no snapshot.
	err = pgx.BeginTxFunc(ctx, conn, s.pool.transaction(pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}), func(tx pgx.Tx) error {
		if snapshot != "" {
			if _, err := tx.Exec(ctx, "SET TRANSACTION SNAPSHOT '"+strings.ReplaceAll(snapshot, "'", "''")+"'"); err != nil {
				return err
			}
		}
		if start, err = streamStart(ctx, tx); err != nil {
			return err
		}
		late.Stop()
		if point = from(start.Now); point == nil {
			return nil
		}
		if _, err := tx.Exec(ctx, statement("stream_history_plan")); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, statement("stream_history"), float64(point.At.UnixMicro())/1e6, point.Snapshot, multirange(unseen))
		return err
	})
	if err != nil {
		conn.Release()
		if errors.Is(context.Cause(ctx), errStreamStart) {
			err = errStreamStart
		}
		return StreamStart{}, nil, fmt.Errorf("open stream: %w", err)
	}
	if point == nil {
		conn.Release()
		return start, nil, nil
	}
	return start, NewStreamHistory(&historyCursor{conn}), nil
}

// multirange writes spans as PostgreSQL reads them.
func multirange(spans []Span) string {
	var text strings.Builder
	text.WriteByte('{')
	for i, one := range spans {
		if i > 0 {
			text.WriteByte(',')
		}
		if one.High == math.MaxInt64 { // the server counts up what is included
			fmt.Fprintf(&text, "[%d,)", one.Low)
			continue
		}
		fmt.Fprintf(&text, "[%d,%d]", one.Low, one.High)
	}
	text.WriteByte('}')
	return text.String()
}

func streamStart(ctx context.Context, tx pgx.Tx) (StreamStart, error) {
	start := StreamStart{Last: map[int64]string{}}
	if err := tx.QueryRow(ctx, statement("stream_start")).Scan(&start.High, &start.Now, &start.Snapshot); err != nil {
		return StreamStart{}, err
	}
	rows, err := tx.Query(ctx, statement("stream_last"))
	if err != nil {
		return StreamStart{}, err
	}
	var id int64
	var status string
	if _, err = pgx.ForEachRow(rows, []any{&id, &status}, func() error {
		start.Last[id] = status
		return nil
	}); err != nil {
		return StreamStart{}, err
	}
	rows, err = tx.Query(ctx, statement("stream_gaps"))
	if err != nil {
		return StreamStart{}, err
	}
	start.Gaps, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Span])
	for i, j := 0, len(start.Gaps)-1; i < j; i, j = i+1, j-1 {
		start.Gaps[i], start.Gaps[j] = start.Gaps[j], start.Gaps[i]
	}
	return start, err
}

func (h *historyCursor) Next(ctx context.Context, n int) ([]StreamPast, error) {
	rows, err := h.conn.Query(ctx, fmt.Sprintf("FETCH FORWARD %d FROM rowrun_stream_history", n))
	if err != nil {
		return nil, fmt.Errorf("read stream history: %w", err)
	}
	defer rows.Close()
	var past []StreamPast
	var p StreamPast
	var replica pgtype.Text
	for t := newStreamTargets(nil, []any{&p.From, &p.To, &replica}); rows.Next(); {
		if p.StreamRow, _, err = t.scan(rows); err != nil {
			return nil, fmt.Errorf("read stream history: %w", err)
		}
		p.ReplicaID = text(replica)
		past = append(past, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read stream history: %w", err)
	}
	return past, nil
}

func (h *historyCursor) Close(ctx context.Context) {
	if _, err := h.conn.Exec(ctx, "CLOSE rowrun_stream_history"); err != nil {
		_ = h.conn.Conn().Close(ctx) // the pool drops it, and the server what it kept
	}
	h.conn.Release()
}
