package stream_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

var errAway = errors.New("away")

// faulty is a database of which some answers get lost.
type faulty struct {
	*store.Store
	positions, pages atomic.Int64 // how many of the next ones
}

func (f *faulty) LastStreamPosition(ctx context.Context) (*store.StreamPosition, error) {
	if f.positions.Add(-1) >= 0 {
		return nil, errAway
	}
	return f.Store.LastStreamPosition(ctx)
}

func (f *faulty) OpenStreamAt(ctx context.Context, point *store.StreamPoint, unseen []store.Span) (store.StreamStart, *store.StreamHistory, error) {
	start, history, err := f.Store.OpenStreamAt(ctx, point, unseen)
	if history != nil {
		history = store.NewStreamHistory(&faultyHistory{f, history})
	}
	return start, history, err
}

type faultyHistory struct {
	f *faulty
	*store.StreamHistory
}

func (h *faultyHistory) Next(ctx context.Context, n int) ([]store.StreamPast, error) {
	if h.f.pages.Add(-1) >= 0 {
		return nil, errAway
	}
	return h.StreamHistory.Next(ctx, n)
}

// written waits until a position is recorded, for whoever comes after.
func written(t *testing.T, p *pgxpool.Pool) {
	t.Helper()
	eventually(t, "a position", func() bool { return queryID(t, p, "SELECT count(*) FROM rowrun.stream_position") > 0 })
}

// Whoever takes over from a writer that died begins where that was, also where the database doesn't answer at once, or goes
// away while it tells of the past.
func TestATakeOverIsTriedUntilTheDatabaseAnswers(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	first := stand(t, url, "first")
	first.awaitBegin(t, p)
	written(t, p)
	first.hangUp() // it leaves nothing
	run := queryID(t, p, insertRun, task(t, p, "between", "NOBODY"))

	database := &faulty{Store: open(t, url)}
	database.positions.Store(2)
	database.pages.Store(2)
	second := standOn(t, url, "second", database, nil)
	eventually(t, "the run is told", func() bool { return statuses(second.of(t, run)) == "PENDING AVAILABLE" })
	require.Equal(t, []string{"the replica that wrote the stream is gone"}, second.gaps(t))
}

// failing is an output that has no room for a while.
type failing struct {
	to   io.Writer
	full *atomic.Bool
}

func (f *failing) Write(b []byte) (int, error) {
	if f.full.Load() {
		return 0, errors.New("no space left on device")
	}
	return f.to.Write(b)
}

// What could not be written, by a replica that nobody takes over from, it tells itself later: behind a gap.
func TestALoneWriterTellsWhatItCouldNotWrite(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	var full atomic.Bool
	c := standOn(t, url, "alone", open(t, url), func(to io.Writer) io.Writer { return &failing{to, &full} })
	c.awaitBegin(t, p)
	written(t, p)
	full.Store(true)
	id := task(t, p, "unwritten", "NOBODY")
	run := queryID(t, p, insertRun, id)
	eventually(t, "it gives up", func() bool { return !c.Holding() })
	later := queryID(t, p, insertRun, id)
	full.Store(false)
	eventually(t, "both are told", func() bool {
		return statuses(c.of(t, run)) == "PENDING AVAILABLE" && statuses(c.of(t, later)) == "PENDING AVAILABLE"
	})
	require.Equal(t, []string{"the stream could not be written for a while"}, c.gaps(t))
}

var _ stream.Store = (*faulty)(nil)

// A lock that could not be given back in time is given back later, though the output still takes nothing: nobody else could write.
func TestALockThatCouldNotBeGivenBackIsGivenBackLater(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	var full atomic.Bool
	first := standOn(t, url, "first", open(t, url), func(to io.Writer) io.Writer { return &failing{to, &full} })
	first.awaitBegin(t, p)
	written(t, p)
	second := stand(t, url, "second")
	full.Store(true)
	first.unheard.Store(true)
	run := queryID(t, p, insertRun, task(t, p, "unwritten", "NOBODY"))
	eventually(t, "it gives up", func() bool { return !first.Holding() })
	require.Equal(t, int64(1), queryID(t, p, `SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE l.locktype = 'advisory' AND a.application_name = 'listen first' AND a.datname = current_database()`))
	first.unheard.Store(false)
	eventually(t, "another one writes", second.Holding)
	eventually(t, "the run is told", func() bool { return statuses(second.of(t, run)) == "PENDING AVAILABLE" })
}
