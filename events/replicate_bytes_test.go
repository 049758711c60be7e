package events_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
)

// What is held for a reader that is behind is bounded by its text too, within a transaction and across many.
func TestALargeTextFillsTheBufferAsManyRowsDo(t *testing.T) {
	t.Parallel()
	_, conn, config := slot(t)
	const large = 100 << 10
	filled := make(chan struct{}, 10)
	config.BufferBytes = 5 * large
	config.Filled = func() { filled <- struct{}{} }
	_, err := conn.Exec(t.Context(), "INSERT INTO thing SELECT i, repeat('x', $1::int) FROM generate_series(1, 40) i", large)
	require.NoError(t, err)
	r, _ := reading(t, config)
	rows, pieces := 0, 0
	for rows < 40 {
		wait(t, "the buffer is full", filled)
		require.True(t, r.Full())
		txs, err := r.Next(t.Context())
		require.NoError(t, err)
		require.Len(t, txs, 1, "one piece fills it")
		require.Len(t, txs[0].Rows, 5)
		rows += len(txs[0].Rows)
		pieces++
	}
	require.Equal(t, 8, pieces)
	names, last := next(t, r, 1)
	require.Empty(t, names, "the end of the transaction")
	require.NotZero(t, last.End)
	r.Confirm(last.End)

	for i := range 5 {
		_, err := conn.Exec(t.Context(), "INSERT INTO thing VALUES ($1::int + 100, repeat('x', $2::int))", i, large)
		require.NoError(t, err)
	}
	wait(t, "the buffer is full", filled)
	names, _ = next(t, r, 5)
	require.Len(t, names, 5)
}

// What is of no use isn't held.
func TestWhatIsTrimmedTakesNoRoom(t *testing.T) {
	t.Parallel()
	_, conn, config := slot(t)
	filled := make(chan struct{}, 1)
	config.BufferBytes = 100 << 10
	config.Filled = func() { filled <- struct{}{} }
	config.Trim = func(row *events.Row) { row.Values[1] = &events.Value{DataType: events.Null} }
	_, err := conn.Exec(t.Context(), "INSERT INTO thing SELECT i, repeat('x', 100000) FROM generate_series(1, 40) i")
	require.NoError(t, err)
	r, _ := reading(t, config)
	require.Eventually(t, func() bool { received, _ := r.Position(); return received > 0 }, patience, time.Millisecond)
	txs, err := r.Next(t.Context())
	require.NoError(t, err)
	require.Len(t, txs, 1)
	require.Len(t, txs[0].Rows, 40)
	require.Empty(t, filled)
}
