package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// StreamRow is what the stream tells of a run beside the transition itself. Times that have not come yet are zero.
type StreamRow struct {
	ID          int64
	RootID      int64
	TaskID      int64
	TaskName    string
	Type        string
	Queue       string
	PlanID      *int64
	DatabaseID  *string
	Version     *string
	Attempt     int
	RetryOf     *int64
	CreatedAt   time.Time
	RunAt       time.Time // zero: not known
	AvailableAt time.Time
	StartedAt   time.Time
	FinishedAt  time.Time
	Code        *string // of FAILED and CANCELED, like Detail
	Detail      *string // at most 4,096 characters
	RetryRunID  *int64
	// FailureLogLevel is the task's: the level of a FAILED line. "" where the task is gone.
	FailureLogLevel string
	// Status and ReplicaID are those of the row now; "" where they weren't read from a row.
	Status    string
	ReplicaID *string
	// Prev is the status before, where the row's newest version is a change of status; "" of an insert. PENDING before
	// RUNNING: it was promoted and claimed at once.
	Prev string
	// Xid is the transaction that wrote the newest version.
	Xid uint64
}

// streamTargets receives the columns of a run in stream_rows, stream_inserts and stream_history; one is used for all rows of an answer.
type streamTargets struct {
	id, root, task                             pgtype.Int8
	name, kind, queue, level                   pgtype.Text
	plan, retryOf, retryRun                    pgtype.Int8
	database, version, code, detail            pgtype.Text
	attempt                                    pgtype.Int4
	status, replica, prev                      pgtype.Text
	xmin, next                                 pgtype.Int8
	created, due, available, started, finished pgtype.Timestamptz
	targets                                    []any
}

// newStreamTargets also takes the targets of columns before and behind.
func newStreamTargets(before, behind []any) *streamTargets {
	t := &streamTargets{}
	t.targets = append(t.targets, before...)
	t.targets = append(t.targets, &t.id, &t.root, &t.task, &t.name, &t.kind, &t.queue, &t.plan, &t.database, &t.version,
		&t.attempt, &t.retryOf, &t.created, &t.due, &t.available, &t.started, &t.finished, &t.code, &t.detail, &t.retryRun, &t.level,
		&t.status, &t.replica, &t.prev, &t.xmin, &t.next)
	t.targets = append(t.targets, behind...)
	return t
}

// scan reads a row; false where the columns of the run are NULL.
func (t *streamTargets) scan(rows pgx.Rows) (StreamRow, bool, error) {
	if err := rows.Scan(t.targets...); err != nil {
		return StreamRow{}, false, err
	}
	return StreamRow{
		ID: t.id.Int64, RootID: t.root.Int64, TaskID: t.task.Int64, TaskName: t.name.String, Type: t.kind.String,
		Queue: t.queue.String, PlanID: number(t.plan), DatabaseID: text(t.database), Version: text(t.version),
		Attempt: int(t.attempt.Int32), RetryOf: number(t.retryOf),
		CreatedAt: t.created.Time, RunAt: t.due.Time, AvailableAt: t.available.Time, StartedAt: t.started.Time, FinishedAt: t.finished.Time,
		Code: text(t.code), Detail: text(t.detail), RetryRunID: number(t.retryRun), FailureLogLevel: t.level.String,
		Status: t.status.String, ReplicaID: text(t.replica), Prev: t.prev.String, Xid: wholeXid(t.xmin.Int64, t.next.Int64),
	}, t.id.Valid, nil
}

// wholeXid completes the 32 bits of a transaction's number that stand in a row; next is the first number that had not
// been given when the row was read.
func wholeXid(low, next int64) uint64 { return uint64(next - (next-low)&math.MaxUint32) } //nolint:gosec // both are above 0

func number(n pgtype.Int8) *int64 {
	if !n.Valid {
		return nil
	}
	v := n.Int64
	return &v
}

func text(s pgtype.Text) *string {
	if !s.Valid {
		return nil
	}
	v := s.String
	return &v
}

// StreamRows reads runs by id, in no order. Those that have been removed are missing.
func (s *Store) StreamRows(ctx context.Context, ids []int64) ([]StreamRow, error) {
	rows, err := s.pool.Query(ctx, statement("stream_rows"), ids)
	if err != nil {
		return nil, fmt.Errorf("read runs for the stream: %w", err)
	}
	defer rows.Close()
	found := make([]StreamRow, 0, len(ids))
	for t := newStreamTargets(nil, nil); rows.Next(); {
		row, _, err := t.scan(rows)
		if err != nil {
			return nil, fmt.Errorf("read runs for the stream: %w", err)
		}
		found = append(found, row)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read runs for the stream: %w", err)
	}
	return found, nil
}

// Span is a range of ids, both ends included.
type Span struct{ Low, High int64 }

// StreamInserts is what one look into ranges of ids found.
type StreamInserts struct {
	// Rows by ascending id; of each range at most as many as were asked for.
	Rows []StreamRow
	// Every transaction below Xmin had ended when the rows were read; none from Next on had a number yet.
	Xmin, Next uint64
	// Point is the moment of the look.
	Point StreamPoint
	// Quiet: the server's queue of notifications is so full that changes may not be notified, by transactions below Next or later ones.
	Quiet bool
}

// StreamInserts reads the runs in ranges of ids that don't overlap, at most limit of each range.
func (s *Store) StreamInserts(ctx context.Context, ranges []Span, limit int) (StreamInserts, error) {
	lows, highs := make([]int64, len(ranges)), make([]int64, len(ranges))
	for i, r := range ranges {
		lows[i], highs[i] = r.Low, r.High
	}
	var found StreamInserts
	rows, err := s.pool.Query(ctx, statement("stream_inserts"), lows, highs, limit)
	if err != nil {
		return StreamInserts{}, fmt.Errorf("look for new runs: %w", err)
	}
	defer rows.Close()
	var age int32
	for t := newStreamTargets([]any{&found.Xmin, &found.Next, &age, &found.Point.Snapshot, &found.Point.At, &found.Quiet}, nil); rows.Next(); {
		row, ok, err := t.scan(rows)
		if err != nil {
			return StreamInserts{}, fmt.Errorf("look for new runs: %w", err)
		}
		if ok {
			found.Rows = append(found.Rows, row)
		}
	}
	if err := rows.Err(); err != nil {
		return StreamInserts{}, fmt.Errorf("look for new runs: %w", err)
	}
	found.Next = nextID(found.Next, age)
	return found, nil
}

// StreamIdle says that no run is AVAILABLE, RUNNING, or PENDING and due.
func (s *Store) StreamIdle(ctx context.Context) (bool, error) {
	var idle bool
	if err := s.pool.QueryRow(ctx, statement("stream_idle")).Scan(&idle); err != nil {
		return false, fmt.Errorf("look for unfinished runs: %w", err)
	}
	return idle, nil
}

// StreamClaim is how a try to become the one that writes the deployment's stream went.
type StreamClaim struct {
	// Held: the session has the lock now, and Writer is the replica that had it before.
	Held bool
	// Writer is the replica that last began to write the stream; "" where none ever did.
	Writer string
	// Point is the moment of the try.
	Point StreamPoint
}

// ClaimStream tries, on a session of the caller's own, to take the lock whose holder writes the stream; on success
// replicaID is recorded as the writer. In a copy of another deployment nobody gets it. The lock lasts as long as the
// session. Not to be called by a session that has it.
func ClaimStream(ctx context.Context, conn *pgx.Conn, replicaID string) (StreamClaim, error) {
	var c StreamClaim
	if err := conn.QueryRow(ctx, statement("claim_stream")).Scan(&c.Held, &c.Writer, &c.Point.At, &c.Point.Snapshot); err != nil {
		return StreamClaim{}, fmt.Errorf("claim stream: %w", err)
	}
	if !c.Held {
		return c, nil
	}
	if err := NameStreamWriter(ctx, conn, replicaID); err != nil {
		return StreamClaim{}, errors.Join(err, ReleaseStream(ctx, conn))
	}
	return c, nil
}

// NameStreamWriter records who writes the stream. Only the holder of the lock calls it.
func NameStreamWriter(ctx context.Context, conn *pgx.Conn, replicaID string) error {
	if _, err := conn.Exec(ctx, statement("name_stream_writer"), replicaID); err != nil {
		return fmt.Errorf("record the stream's writer: %w", err)
	}
	return nil
}

// ReleaseStream gives the lock of ClaimStream back.
func ReleaseStream(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, statement("release_stream")); err != nil {
		return fmt.Errorf("release stream: %w", err)
	}
	return nil
}
