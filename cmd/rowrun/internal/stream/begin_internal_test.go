package stream

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// lostHistory is a history behind a connection that is gone: nothing answers.
type lostHistory struct{ closing chan struct{} }

func (h *lostHistory) Next(context.Context, int) ([]store.StreamPast, error) {
	return nil, errors.New("connection reset by peer")
}

func (h *lostHistory) Close(ctx context.Context) {
	close(h.closing)
	<-ctx.Done()
}

// Who loses the lock in the middle of a history doesn't wait for that to be closed: what it prints after that, another one prints, too.
func TestAHistoryThatCannotBeClosedHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	printer, err := NewPrinter(PrinterConfig{Out: &bytes.Buffer{}})
	require.NoError(t, err)
	h := &lostHistory{closing: make(chan struct{})}
	ctx, lose := context.WithCancel(t.Context())
	defer lose()
	told := make(chan error, 1)
	go func() { told <- tell(ctx, store.NewStreamHistory(h), printer, newPrinted()) }()
	<-h.closing
	lose()
	select {
	case err := <-told:
		require.ErrorContains(t, err, "connection reset")
	case <-time.After(queryTimeout / 2):
		require.Fail(t, "it waits for the history's end")
	}
}

// A look at all rows tells the newest transition of a run that was inserted long before it was committed: what comes before that is told
// with it where no run of that id was seen, or where it is known how far it was told.
func TestALookAtAllRowsTellsWhatComesBeforeTheNewestTransition(t *testing.T) {
	t.Parallel()
	for about, c := range map[string]struct {
		high  int64         // of the ids that were seen
		rank  uint8         // that was told
		whole time.Duration // after the insert: since when every line is remembered
		lines []string
	}{
		"a hole, or above all":     {high: 6, lines: []string{"pending", "available", "running"}},
		"told to be PENDING":       {high: 7, rank: 1, lines: []string{"available", "running"}},
		"seen, and not remembered": {high: 7, lines: []string{"running"}},
		"remembered if told":       {high: 7, whole: -time.Second, lines: []string{"pending", "available", "running"}},
		"maybe told before":        {high: 7, whole: time.Second, lines: []string{"running"}},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			printer, err := NewPrinter(PrinterConfig{Out: &out})
			require.NoError(t, err)
			at, replica := time.Now(), "r"
			row := store.StreamRow{ID: 7, RootID: 7, Status: "RUNNING", CreatedAt: at, AvailableAt: at, StartedAt: at, ReplicaID: &replica}
			r, err := New(Config{
				Store: &past{rows: []store.StreamPast{{StreamRow: row, From: "AVAILABLE", To: "RUNNING", ReplicaID: &replica}}},
				Hub:   events.NewHub(), Connected: func() bool { return true }, Printer: printer,
			})
			require.NoError(t, err)
			defer r.Close()
			r.inserts = newInserts(store.StreamStart{High: c.high}, at)
			if c.whole != 0 {
				r.printed.beginAt(at.Add(c.whole))
			}
			if c.rank > 0 {
				r.printed.set(7, c.rank)
			}
			r.at.Store(&heardPoint{})
			require.NoError(t, r.catchUp(t.Context()))
			var told []string
			for line := range strings.Lines(out.String()) {
				_, status, _ := strings.Cut(line, `"event":"task_run.`)
				status, _, _ = strings.Cut(status, `"`)
				told = append(told, status)
			}
			require.Equal(t, c.lines, told)
			require.Empty(t, r.printed.unseen, "inserts know")
		})
	}
}

// What forgets a line doesn't know of a run without one whether it was told.
func TestWhoForgetsALineKnowsNoRunByItsAbsence(t *testing.T) {
	t.Parallel()
	at := time.Now()
	p, row := newPrinted(), &store.StreamRow{ID: 2, CreatedAt: at.Add(time.Second)}
	p.beginAt(at)
	p.set(1, ended)
	p.turn()
	require.True(t, p.knows(row))
	p.turn()
	require.False(t, p.knows(row))
	p = newPrinted()
	p.set(1, 1)
	p.beginAt(at)
	require.False(t, p.knows(row), "of what was before")
}

// What another one has printed meanwhile is not missing.
func TestAMemoryIsWholeSinceNobodyElseWrote(t *testing.T) {
	t.Parallel()
	first, second := time.Now(), time.Now().Add(time.Minute)
	e := &Election{config: ElectionConfig{Store: &nothingLeft{}}, wal: &WAL{printed: newPrinted()}}
	e.inherit(&leadership{ctx: t.Context(), since: store.StreamPoint{At: first}}, "")
	require.Equal(t, first, e.wal.printed.whole)
	e.inherit(&leadership{ctx: t.Context(), since: store.StreamPoint{At: second}}, "")
	require.Equal(t, first, e.wal.printed.whole, "the same goes on")
	e.inherit(&leadership{ctx: t.Context(), since: store.StreamPoint{At: second}}, "another")
	require.Equal(t, second, e.wal.printed.whole)
}

// nothingLeft is a database in which the last writer has left nothing.
type nothingLeft struct{ Store }

func (*nothingLeft) TakeStream(context.Context, string) (*store.StreamHandover, error) {
	return nil, nil
}

// Who begins beside a backlog tells the past of all of it first. What 100,000 of these runs go through meanwhile is held.
func TestWhatComesDuringALongHistoryIsHeld(t *testing.T) {
	t.Parallel()
	printer, err := NewPrinter(PrinterConfig{Out: &bytes.Buffer{}})
	require.NoError(t, err)
	hub := events.NewHub()
	r, err := New(Config{Store: &store.Store{}, Hub: hub, Connected: func() bool { return true }, Printer: printer})
	require.NoError(t, err)
	defer r.Close()
	for run := range int64(100_000) {
		hub.Publish([]events.Transition{{RunID: run, To: "AVAILABLE"}, {RunID: run, To: "RUNNING"}, {RunID: run, To: "DONE"}})
	}
	require.False(t, r.batches.Lost())
}

// oneRow is a history of one row.
type oneRow struct{ rows []store.StreamPast }

func (h *oneRow) Next(context.Context, int) (rows []store.StreamPast, err error) {
	rows, h.rows = h.rows, nil
	return rows, nil
}

func (h *oneRow) Close(context.Context) {}

// A writer that was stopped between the two transitions of an INSERT has told the first.
func TestAnInsertOfThePastIsToldToItsEnd(t *testing.T) {
	t.Parallel()
	for before, want := range map[uint8][]string{0: {"PENDING", "AVAILABLE"}, 1: {"AVAILABLE"}, 2: nil} {
		var lines []string
		printer, err := NewPrinter(PrinterConfig{Out: &bytes.Buffer{}})
		require.NoError(t, err)
		printer.Keep(func(_ string, line []byte) { lines = append(lines, string(line)) })
		memory := newPrinted()
		memory.set(7, before)
		row := store.StreamRow{ID: 7, Status: "AVAILABLE", CreatedAt: time.Unix(1, 0), AvailableAt: time.Unix(2, 0)}
		require.NoError(t, tell(t.Context(), store.NewStreamHistory(&oneRow{[]store.StreamPast{{StreamRow: row, To: "PENDING"}}}), printer, memory))
		require.Len(t, lines, len(want))
		for i := range want {
			require.Contains(t, lines[i], `"to":"`+want[i]+`"`)
		}
		require.EqualValues(t, 2, memory.at(7))
	}
}
