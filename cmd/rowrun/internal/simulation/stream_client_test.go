package simulation

import (
	"context"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/store"
)

var _ stream.Store = (*client)(nil)

func (c *client) OpenStream(ctx context.Context, _ time.Duration) (store.StreamStart, *store.StreamHistory, error) {
	return c.OpenStreamAt(ctx, nil, nil)
}

func (c *client) OpenStreamAt(ctx context.Context, point *store.StreamPoint, _ []store.Span) (store.StreamStart, *store.StreamHistory, error) {
	type answer struct {
		start   store.StreamStart
		history *store.StreamHistory
	}
	a, err := call(ctx, c, "OpenStream", "pool", func(_ context.Context, _ *transaction, _ *dice) (a answer, err error) {
		a.start, c.s.told.opens[c.process] = c.s.db.streamStart(), time.Now()
		if point == nil {
			c.s.told.opened(c.process, a.start.Snapshot)
			return a, nil
		}
		past, err := c.s.db.streamHistory(point)
		a.history = store.NewStreamHistory(&history{c: c, rest: past})
		return a, err
	})
	return a.start, a.history, err
}

func (c *client) StreamInserts(ctx context.Context, ranges []store.Span, limit int) (store.StreamInserts, error) {
	return call(ctx, c, "StreamInserts", "pool", func(context.Context, *transaction, *dice) (store.StreamInserts, error) {
		return c.s.db.streamInserts(ranges, limit), nil
	})
}

func (c *client) StreamRows(ctx context.Context, ids []int64) ([]store.StreamRow, error) {
	return call(ctx, c, "StreamRows", "pool", func(context.Context, *transaction, *dice) ([]store.StreamRow, error) {
		var found []store.StreamRow
		for _, id := range ids {
			if r := c.s.db.runs[id]; r != nil && r.seen {
				found = append(found, r.streamRow())
			}
		}
		return found, nil
	})
}

func (c *client) StreamIdle(context.Context) (bool, error) { return false, nil }

// TakeStream takes what was left once, whether or not the answer arrives.
func (c *client) TakeStream(ctx context.Context, writer string) (*store.StreamHandover, error) {
	return call(ctx, c, "TakeStream", "pool", func(_ context.Context, tx *transaction, _ *dice) (*store.StreamHandover, error) {
		left := c.s.db.stream.left
		h := left[writer]
		if h != nil {
			tx.writes()
			tx.then = append(tx.then, func() { delete(left, writer) })
			c.s.told.breaks++
			c.s.count("stream: taken over from where the last writer left it")
		}
		return h, nil
	})
}

func (c *client) LeaveStream(ctx context.Context, h *store.StreamHandover) error {
	return c.do(ctx, "LeaveStream", "pool", func(_ context.Context, tx *transaction) error {
		tx.writes()
		t, writer := &c.s.db.stream, c.s.db.stream.writer
		left := *h
		left.Runs = make(map[int64]uint8, len(h.Runs))
		for id, rank := range h.Runs {
			left.Runs[id] = rank
		}
		tx.then = append(tx.then, func() {
			for former := range t.left {
				if former != writer {
					delete(t.left, former)
				}
			}
			t.left[writer] = &left
		})
		return nil
	})
}

func (c *client) LastStreamPosition(ctx context.Context) (*store.StreamPosition, error) {
	return call(ctx, c, "LastStreamPosition", "pool", func(context.Context, *transaction, *dice) (*store.StreamPosition, error) {
		last := c.s.db.stream.lastPosition()
		c.s.told.unknown[c.process] = last == nil
		return last, nil
	})
}

func (c *client) RecordStreamPosition(ctx context.Context, p store.StreamPosition) error {
	return c.do(ctx, "RecordStreamPosition", "pool", func(_ context.Context, tx *transaction) error {
		tx.writes()
		tx.then = append(tx.then, func() { c.s.db.stream.positions[p.Point.At.Unix()] = p })
		return nil
	})
}

func (c *client) ThinStreamPositions(context.Context) error { return nil }

func (c *client) UnprintedNotes(context.Context) ([]store.Note, error) { return nil, nil }

func (c *client) NotesPrinted(context.Context, []int64) error { return nil }

func (c *client) Look(context.Context) error { return nil }
