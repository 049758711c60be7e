package stream

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// Where rows are found before their transitions are heard, a whole chain may be there while its first end is still to be
// told.
func TestSuccessorsOfSuccessorsWaitToo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printer, err := NewPrinter(PrinterConfig{Out: &out, Text: true})
	require.NoError(t, err)
	r := &Reader{config: Config{Printer: printer}, printed: newPrinted(), deferred: map[int64]successor{}, inserts: newInserts(store.StreamStart{High: 1}, time.Now())}
	r.printed.set(1, rank("RUNNING"))
	for id := int64(2); id <= 3; id++ {
		before := id - 1
		r.insert(&store.StreamRow{ID: id, RootID: 1, RetryOf: &before}, nil)
	}
	for id := int64(1); id <= 3; id++ {
		row := &store.StreamRow{ID: id, RootID: 1, Status: "FAILED", FinishedAt: time.Now()}
		if before := id - 1; before > 0 {
			row.RetryOf = &before
		}
		r.told(&events.Reached{RunID: id, To: "FAILED"}, row)
	}
	require.NoError(t, printer.flush())
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line)[2:4], " "))
	}
	require.Equal(t, []string{"1 FAILED", "2 PENDING", "2 FAILED", "3 PENDING", "3 FAILED"}, got)
}

// Behind a gap ends are told from the rows: what follows them comes after that, and once.
func TestSuccessorsComeBehindAGapToo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printer, err := NewPrinter(PrinterConfig{Out: &out, Text: true})
	require.NoError(t, err)
	database := &past{}
	r := &Reader{
		config: Config{Printer: printer, Store: database}, printed: newPrinted(), deferred: map[int64]successor{},
		inserts: newInserts(store.StreamStart{High: 1}, time.Now()),
	}
	r.at.Store(&heardPoint{store.StreamPoint{Snapshot: "1:1:"}, 0})
	r.printed.set(1, rank("RUNNING"))
	before := int64(1)
	next := store.StreamRow{ID: 2, RootID: 1, RetryOf: &before, Status: "PENDING", CreatedAt: time.Now()}
	r.insert(&next, nil)
	database.rows = []store.StreamPast{
		{StreamRow: store.StreamRow{ID: 1, RootID: 1, Status: "FAILED", FinishedAt: time.Now()}, From: "RUNNING", To: "FAILED"},
		{StreamRow: next, To: "PENDING"},
	}
	r.batch.Gap = "connection lost"
	require.NoError(t, r.mend(t.Context(), time.Now()))
	require.NoError(t, printer.flush())
	var got []string
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "connection lost") {
			got = append(got, "gap")
		} else {
			got = append(got, strings.Join(strings.Fields(line)[2:4], " "))
		}
	}
	require.Equal(t, []string{"gap", "1 FAILED", "2 PENDING"}, got)
}

// past is a database that tells of the past alone.
type past struct {
	Store
	rows []store.StreamPast
}

func (p *past) OpenStreamAt(context.Context, *store.StreamPoint, []store.Span) (store.StreamStart, *store.StreamHistory, error) {
	return store.StreamStart{Snapshot: "9:9:"}, store.NewStreamHistory(p), nil
}

func (p *past) Next(context.Context, int) ([]store.StreamPast, error) {
	rows := p.rows
	p.rows = nil
	return rows, nil
}

func (p *past) Close(context.Context) {}
