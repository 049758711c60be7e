package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// The last position is the one that was recorded last, also where the database's clock was set back since: by a second, or by
// more than positions are kept.
func TestTheLastPositionIsTheNewestWhateverTheClockSays(t *testing.T) {
	t.Parallel()
	s, pool := opened(t, storetest.New(t))
	var now time.Time
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT date_trunc('second', now()) - interval '1 minute'`).Scan(&now))
	xmax := 1000
	record := func(timeline int, lsn string, at time.Time) {
		t.Helper()
		xmax++
		require.NoError(t, s.RecordStreamPosition(t.Context(), store.StreamPosition{
			SystemID: "1", Timeline: timeline, LSN: lsn, Point: store.StreamPoint{At: at, Snapshot: fmt.Sprintf("%d:%d:", xmax, xmax)},
		}))
		require.NoError(t, s.ThinStreamPositions(t.Context()))
		last, err := s.LastStreamPosition(t.Context())
		require.NoError(t, err)
		require.Equal(t, lsn, last.LSN)
		require.Equal(t, timeline, last.Timeline)
	}
	record(1, "0/10", now.Add(-40*time.Second))
	record(1, "0/20", now)
	record(1, "0/30", now.Add(8*24*time.Hour)) // that drops what was a week before
	record(2, "0/40", now.Add(-30*time.Second))
	record(2, "0/50", now.Add(-29*time.Second))
	record(2, "0/60", now)
	record(2, "0/70", now.Add(-10*time.Second)) // both before the present

	at, err := s.StreamPositionAt(t.Context(), "0/55")
	require.NoError(t, err)
	require.Equal(t, "0/50", at.LSN, "what came before stays")

	// A writer that was held up records what is older: what another one has recorded since stays the last.
	xmax = 500
	require.NoError(t, s.RecordStreamPosition(t.Context(), store.StreamPosition{
		SystemID: "1", Timeline: 2, LSN: "0/52", Point: store.StreamPoint{At: now.Add(-20 * time.Second), Snapshot: fmt.Sprintf("%d:%d:", xmax, xmax)},
	}))
	last, err := s.LastStreamPosition(t.Context())
	require.NoError(t, err)
	require.Equal(t, "0/70", last.LSN)
}
