package server

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A claim whose time is over isn't kept at a turn's door, however long the one inside takes.
func TestWhoStandsAtATurnsDoorGoesWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second) // where it is kept
	defer stop()
	of := newTurn()
	of.door <- struct{}{}
	waits, over := context.WithCancel(ctx)
	over()
	answer, err := of.take(ctx, waits, context.Background(), "OWN", func() (json.RawMessage, bool, error) {
		return nil, false, errors.New("it got in")
	})
	require.NoError(t, err)
	require.Equal(t, "[]", string(answer))
}

// Who asked and went leaves an error that says nothing of the database: the next one asks.
func TestWhoLeavesEndsNobodysTurn(t *testing.T) {
	t.Parallel()
	of := newTurn()
	gone, leave := context.WithCancel(t.Context())
	_, err := of.take(gone, t.Context(), context.Background(), "OWN", func() (json.RawMessage, bool, error) {
		leave()
		return nil, false, gone.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
	answer, err := of.take(t.Context(), t.Context(), context.Background(), "OWN", func() (json.RawMessage, bool, error) {
		return json.RawMessage(`[{}]`), false, nil
	})
	require.NoError(t, err)
	require.Equal(t, "[{}]", string(answer))
}
