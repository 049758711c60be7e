package stream

import (
	"bytes"
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
		r.told(&events.Transition{RunID: id, From: "RUNNING", To: "FAILED"}, row)
	}
	require.NoError(t, printer.flush())
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line)[2:4], " "))
	}
	require.Equal(t, []string{"1 FAILED", "2 PENDING", "2 FAILED", "3 PENDING", "3 FAILED"}, got)
}
