package stream

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// pastless is a database whose past can't be read, and which counts who asks for it.
type pastless struct {
	late
	asked int
}

func (p *pastless) OpenStreamAt(context.Context, *store.StreamPoint, []store.Span) (store.StreamStart, *store.StreamHistory, error) {
	p.asked++
	return store.StreamStart{}, nil, errors.New("away")
}

// Until the last transaction that may have found the queue full has ended, the place stays before which all was told.
func TestThePlaceStaysUntilNobodyIsLeftWhoFoundTheQueueFull(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	database, now := &pastless{}, time.Now()
	printer, err := NewPrinter(PrinterConfig{Out: &out})
	require.NoError(t, err)
	r, err := New(Config{Store: database, Hub: events.NewHub(), Connected: func() bool { return true }, Printer: printer})
	require.NoError(t, err)
	defer r.Close()
	r.inserts = newInserts(store.StreamStart{}, now)
	moves := func() bool {
		r.at.Store(nil)
		r.fresh, r.taken = &heardPoint{}, now.Add(-2*trusted)
		r.sure(now)
		return r.at.Load() != nil
	}
	require.True(t, moves())
	r.quiet(&store.StreamInserts{Quiet: true, Xmin: 5, Next: 7})
	require.True(t, r.owes)
	require.Equal(t, gapQueueFull, r.owed)
	r.owes, r.owed = false, "" // a look at all rows
	require.False(t, moves())
	r.quiet(&store.StreamInserts{Quiet: true, Xmin: 8, Next: 9})
	require.True(t, r.owes, "again and again")
	require.Empty(t, r.owed)
	r.owes = false

	r.quiet(&store.StreamInserts{Xmin: 9, Next: 10})
	require.True(t, r.owes)
	require.Equal(t, untold{10}, r.untold)
	r.owes = false
	r.quiet(&store.StreamInserts{Xmin: 9, Next: 12})
	require.False(t, r.owes, "somebody is still open")
	require.False(t, moves())
	r.quiet(&store.StreamInserts{Xmin: 10, Next: 12})
	require.True(t, r.owes)
	require.Equal(t, gapQueueFreed, r.owed)
	require.False(t, moves())
	r.owes, r.owed = false, ""
	require.True(t, moves())
	r.quiet(&store.StreamInserts{Xmin: 10, Next: 12})
	require.False(t, r.owes)

	r.quiet(&store.StreamInserts{Quiet: true})
	require.Equal(t, untold{math.MaxUint64}, r.untold)
	require.NoError(t, r.settle(t.Context()))
	require.Equal(t, 1, database.asked, "who ends looks once more")
	require.Contains(t, out.String(), gapQueueFull)
}
