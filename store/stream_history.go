package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

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
type StreamHistory struct {
	conn *pgxpool.Conn
}

const historyCursor = "rowrun_stream_history"

// With a snapshot, rows that it doesn't show are told, whatever their times say: a transaction that was open for long
// commits rows with old times. Which of their transitions are new is told by their times, but for the last.
//
// Times may be a little out of order (promotion and insert run side by side), but a run's own line never comes before
// the one that it follows.
const streamHistory = `-- stream_history
DECLARE ` + historyCursor + ` NO SCROLL CURSOR WITH HOLD FOR
SELECT ` + streamColumns + `, coalesce(p.prior, ''), p.status,
       CASE WHEN p.rank >= 3 THEN r.replica_id END
FROM rowrun.task_run r
JOIN rowrun.task k ON k.id = r.task_id
CROSS JOIN (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xid) c
CROSS JOIN LATERAL (VALUES
    (1, NULL, 'PENDING', r.created_at, r.created_at),
    (2, 'PENDING', 'AVAILABLE', r.available_at, greatest(r.created_at, r.available_at)),
    (3, 'AVAILABLE', 'RUNNING', r.started_at, greatest(r.created_at, r.available_at, r.started_at)),
    (4, CASE WHEN r.started_at IS NOT NULL THEN 'RUNNING' WHEN r.available_at IS NOT NULL THEN 'AVAILABLE' ELSE 'PENDING' END,
        r.status, r.finished_at, greatest(r.created_at, r.available_at, r.started_at, r.finished_at))
) p(rank, prior, status, at, place)
WHERE CASE WHEN $2::text = '' THEN r.updated_at >= to_timestamp($1::float8) AND p.at >= to_timestamp($1::float8)
      ELSE r.updated_at >= to_timestamp($1::float8) - interval '1 day'
           AND NOT pg_visible_in_snapshot((c.xid - ((c.xid - r.xmin::text::bigint) & 4294967295))::text::xid8, nullif($2::text, '')::pg_snapshot)
           AND p.at IS NOT NULL AND (p.at >= to_timestamp($1::float8)
                                   OR p.status = r.status AND (r.prev_status IS NOT NULL OR p.rank = 1)) END
ORDER BY p.place, r.id, p.rank`

// OpenStream reads where a reader of the stream begins. since above zero also asks for the transitions of the time
// before that moment, which is a sequential read of all runs: for a person's command. The history is nil otherwise.
func (s *Store) OpenStream(ctx context.Context, since time.Duration) (StreamStart, *StreamHistory, error) {
	return s.openStream(ctx, func(now time.Time) *StreamPoint {
		if since <= 0 {
			return nil
		}
		return &StreamPoint{At: now.Add(-since)}
	})
}

// OpenStreamAt is OpenStream with the transitions since a point; nil: none.
func (s *Store) OpenStreamAt(ctx context.Context, point *StreamPoint) (StreamStart, *StreamHistory, error) {
	return s.openStream(ctx, func(time.Time) *StreamPoint { return point })
}

func (s *Store) openStream(ctx context.Context, from func(now time.Time) *StreamPoint) (StreamStart, *StreamHistory, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return StreamStart{}, nil, fmt.Errorf("open stream: %w", err)
	}
	var point *StreamPoint
	var start StreamStart
	// One snapshot for both: what the history doesn't have comes later. WITH HOLD lets the server keep the answer, so
	// that a slow reader holds no snapshot.
	err = pgx.BeginTxFunc(ctx, conn, s.pool.transaction(pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}), func(tx pgx.Tx) error {
		if start, err = streamStart(ctx, tx); err != nil {
			return err
		}
		if point = from(start.Now); point == nil {
			return nil
		}
		_, err := tx.Exec(ctx, streamHistory, float64(point.At.UnixMicro())/1e6, point.Snapshot)
		return err
	})
	if err != nil {
		conn.Release()
		return StreamStart{}, nil, fmt.Errorf("open stream: %w", err)
	}
	if point == nil {
		conn.Release()
		return start, nil, nil
	}
	return start, &StreamHistory{conn: conn}, nil
}

func streamStart(ctx context.Context, tx pgx.Tx) (StreamStart, error) {
	const top = `-- stream_start
SELECT coalesce((SELECT r.id FROM rowrun.task_run r ORDER BY r.id DESC LIMIT 1), 0), clock_timestamp(), pg_current_snapshot()::text`
	const gaps = `-- stream_gaps
SELECT g.below + 1, g.id - 1
FROM (SELECT r.id, coalesce(lead(r.id) OVER (ORDER BY r.id DESC), CASE WHEN count(*) OVER () < 100000 THEN 0 END) AS below
      FROM (SELECT x.id FROM rowrun.task_run x ORDER BY x.id DESC LIMIT 100000) r) g
WHERE g.below + 1 < g.id
ORDER BY g.id DESC LIMIT 1000`
	const last = `-- stream_last
SELECT r.id, r.status FROM rowrun.task_run r ORDER BY r.id DESC LIMIT 65536`
	start := StreamStart{Last: map[int64]string{}}
	if err := tx.QueryRow(ctx, top).Scan(&start.High, &start.Now, &start.Snapshot); err != nil {
		return StreamStart{}, err
	}
	rows, err := tx.Query(ctx, last)
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
	rows, err = tx.Query(ctx, gaps)
	if err != nil {
		return StreamStart{}, err
	}
	start.Gaps, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Span])
	for i, j := 0, len(start.Gaps)-1; i < j; i, j = i+1, j-1 {
		start.Gaps[i], start.Gaps[j] = start.Gaps[j], start.Gaps[i]
	}
	return start, err
}

// Next reads up to n further transitions, in the order of their times; none: that was all.
func (h *StreamHistory) Next(ctx context.Context, n int) ([]StreamPast, error) {
	rows, err := h.conn.Query(ctx, fmt.Sprintf("-- stream_history_next\nFETCH FORWARD %d FROM %s", n, historyCursor))
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

// Close gives the server's copy of the history up.
func (h *StreamHistory) Close(ctx context.Context) {
	if _, err := h.conn.Exec(ctx, "CLOSE "+historyCursor); err != nil {
		_ = h.conn.Conn().Close(ctx) // the pool drops it, and the server what it kept
	}
	h.conn.Release()
}
