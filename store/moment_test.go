package store_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Every time that a row may hold is one that this program, and JSON, can hold.
func TestTimesAreReadWithinBounds(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{URL: storetest.Empty(t)})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	for text, want := range map[string]time.Time{
		"infinity": last, "-infinity": first, "294276-12-31 23:59:59.999999+00": last, "10000-01-01 00:00:00+00": last,
		"4713-01-01 00:00:00+00 BC": first, "0001-01-01 00:00:00+00": first, "9999-12-31 23:59:59.999999+00": last,
		"2026-11-22 10:00:00.5+00": time.Date(2026, 11, 22, 10, 0, 0, 500_000_000, time.UTC),
	} {
		var plain time.Time
		var pointer *time.Time
		var pg pgtype.Timestamptz
		require.NoError(t, s.Pool().QueryRow(t.Context(), `SELECT $1::text::timestamptz, $1::text::timestamptz, $1::text::timestamptz`, text).Scan(&plain, &pointer, &pg), text)
		for _, got := range []time.Time{plain, *pointer, pg.Time} {
			require.True(t, want.Equal(got), "%s: %s", text, got)
			_, err := json.Marshal(got.UTC())
			require.NoError(t, err, text)
		}
		got, err := store.BoundTime(text)
		require.NoError(t, err, text)
		require.True(t, want.Equal(got), "%s: %s", text, got)
	}
	var none *time.Time
	require.NoError(t, s.Pool().QueryRow(t.Context(), `SELECT NULL::timestamptz`).Scan(&none))
	require.Nil(t, none)
	require.ErrorContains(t, s.Pool().QueryRow(t.Context(), `SELECT NULL::timestamptz`).Scan(new(time.Time)), "NULL")
	_, err = store.BoundTime("yesterday, perhaps")
	require.Error(t, err)

	require.Equal(t, time.Duration(math.MaxInt64), store.Milliseconds(1e300))
	require.Equal(t, time.Duration(math.MinInt64), store.Milliseconds(math.Inf(-1)))
	require.Equal(t, time.Duration(0), store.Milliseconds(math.NaN()))
	require.Equal(t, 1500*time.Microsecond, store.Milliseconds(1.5))
}
