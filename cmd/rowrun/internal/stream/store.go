package stream

import (
	"context"
	"time"

	"github.com/rowrun/rowrun/store"
)

// Store is the database as a stream from rows knows it. There are two: *store.Store, and the simulated one of
// cmd/rowrun/internal/simulation. What each method promises is written at *store.Store. The lock of who writes belongs to
// the listener's connection: ElectionConfig.Do leads there.
type Store interface {
	writerStore

	// OpenStream and what follows read where a stream begins, and runs.
	OpenStream(ctx context.Context, since time.Duration) (store.StreamStart, *store.StreamHistory, error)
	OpenStreamAt(ctx context.Context, point *store.StreamPoint, unseen []store.Span) (store.StreamStart, *store.StreamHistory, error)
	StreamInserts(ctx context.Context, ranges []store.Span, limit int) (store.StreamInserts, error)
	StreamRows(ctx context.Context, ids []int64) ([]store.StreamRow, error)
	StreamIdle(ctx context.Context) (bool, error)
}

// writerStore is what one writer of the stream leaves to the next, and what it says besides transitions.
type writerStore interface {
	TakeStream(ctx context.Context, writer string) (*store.StreamHandover, error)
	LeaveStream(ctx context.Context, h *store.StreamHandover) error
	LastStreamPosition(ctx context.Context) (*store.StreamPosition, error)
	RecordStreamPosition(ctx context.Context, p store.StreamPosition) error
	ThinStreamPositions(ctx context.Context) error
	UnprintedNotes(ctx context.Context) ([]store.Note, error)
	NotesPrinted(ctx context.Context, ids []int64) error
	Look(ctx context.Context) error
}
