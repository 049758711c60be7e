package stream

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
