package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// Who begins where another has stopped finds times of half a second before that too.
func TestWhatWasPrintedLatelyIsLeftToTheNextWriter(t *testing.T) {
	t.Parallel()
	p, now := newPrinted(), time.Now()
	p.tick(now)
	p.set(1, 2)
	p.begin()
	require.Equal(t, map[int64]uint8{1: 2}, p.since)
	p.tick(now.Add(1100 * time.Millisecond))
	p.set(2, 1)
	p.mark()
	p.set(1, 3)
	p.moveOn()
	require.Equal(t, map[int64]uint8{1: 3, 2: 1}, p.since)
	p.tick(now.Add(3 * time.Second))
	p.tick(now.Add(5 * time.Second))
	p.mark()
	require.Empty(t, p.later)
}

// late is an output that fails when a stop has no more time, and a database of one run.
type late struct {
	Store
	left bool
}

func (l *late) Write([]byte) (int, error) {
	<-time.After(drainTime + time.Second)
	return 0, errors.New("no space left on device")
}

func (l *late) StreamInserts(context.Context, []store.Span, int) (store.StreamInserts, error) {
	row := store.StreamRow{ID: 1, RootID: 1, Status: "PENDING", CreatedAt: time.Now()}
	return store.StreamInserts{Rows: []store.StreamRow{row}, Xmin: 9, Next: 9, Point: store.StreamPoint{Snapshot: "9:9:"}}, nil
}

func (l *late) LeaveStream(context.Context, *store.StreamHandover) error {
	l.left = true
	return nil
}

func (l *late) RecordStreamPosition(context.Context, store.StreamPosition) error { return nil }

// What the output didn't take, however late that is known, the next writer is not told to have been printed.
func TestAnOutputThatFailsAtTheEndLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, hub := &late{}, events.NewHub()
		printer, err := NewPrinter(PrinterConfig{Out: l})
		require.NoError(t, err)
		e := &Election{config: ElectionConfig{Store: l, Printer: printer}}
		e.reader, err = New(Config{Store: l, Hub: hub, Connected: func() bool { return true }, Printer: printer})
		require.NoError(t, err)
		defer e.reader.Close()
		e.reader.begun, e.reader.inserts = true, newInserts(store.StreamStart{}, time.Now())
		e.reader.at.Store(&heardPoint{store.StreamPoint{Snapshot: "8:8:"}, 0})
		e.reader.printed.begin()
		hub.Wake()
		require.ErrorIs(t, e.leave(t.Context()), ErrOutput)
		require.False(t, l.left)
	})
}

// A reader that was held up for long has the gap of a connection that was lost meanwhile still before it: nothing of the time
// since counts as heard.
func TestNothingIsSureWhileAGapIsToCome(t *testing.T) {
	t.Parallel()
	l, hub, now := &late{}, events.NewHub(), time.Now()
	printer, err := NewPrinter(PrinterConfig{Out: l})
	require.NoError(t, err)
	r, err := New(Config{Store: l, Hub: hub, Connected: func() bool { return true }, Printer: printer, Buffer: 1})
	require.NoError(t, err)
	defer r.Close()
	hub.Publish([]events.Transition{{RunID: 1, To: "DONE"}, {RunID: 2, To: "DONE"}}) // more than it holds
	r.fresh, r.taken = &heardPoint{}, now.Add(-2*trusted)
	r.sure(now)
	require.Nil(t, r.at.Load())
	_, err = r.batches.Next(t.Context())
	require.NoError(t, err)
	r.sure(now)
	require.NotNil(t, r.at.Load())
}

// A successor that has waited for long enough is written with the pass that says so: behind it may be a stop, and the next writer is told
// that it was printed.
func TestAPassWritesWhatItReleases(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	hub := events.NewHub()
	printer, err := NewPrinter(PrinterConfig{Out: &out})
	require.NoError(t, err)
	r, err := New(Config{Store: &late{}, Hub: hub, Connected: func() bool { return true }, Printer: printer})
	require.NoError(t, err)
	defer r.Close()
	r.begun, r.inserts = true, newInserts(store.StreamStart{}, time.Now())
	first := int64(1)
	r.deferred[first] = successor{row: store.StreamRow{ID: 2, RootID: 1, RetryOf: &first, Status: "PENDING"}, since: time.Now().Add(-2 * muchPatience)}
	require.NoError(t, r.pass(t.Context()))
	require.Equal(t, uint8(1), r.printed.at(2))
	require.Contains(t, out.String(), `"run_id":2,`)
}

// away is a database that gives no answer about the past.
type away struct{ late }

func (a *away) OpenStreamAt(context.Context, *store.StreamPoint, []store.Span) (store.StreamStart, *store.StreamHistory, error) {
	<-time.After(20 * time.Second)
	return store.StreamStart{}, nil, errors.New("connection reset by peer")
}

// What the rows know of a gap is asked for again soon, however long no answer came: only answers say what one costs.
func TestAGapIsReadSoonAfterTheDatabaseDidNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub := events.NewHub()
		printer, err := NewPrinter(PrinterConfig{Out: io.Discard})
		require.NoError(t, err)
		r, err := New(Config{Store: &away{}, Hub: hub, Connected: func() bool { return true }, Printer: printer})
		require.NoError(t, err)
		defer r.Close()
		r.begun, r.inserts, r.owes = true, newInserts(store.StreamStart{}, time.Now()), true
		r.at.Store(&heardPoint{})
		require.NoError(t, r.pass(t.Context()))
		require.True(t, r.owes)
		require.LessOrEqual(t, time.Until(r.mendAt), mendPause)
	})
}
