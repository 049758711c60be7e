package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Trips that overlap, and runs that start and end in any order, never have more under way below a priority than its slots leave.
func TestSharesAreNeverExceeded(t *testing.T) {
	t.Parallel()
	storetest.Check(t, 200, 5000, func(t *rapid.T) {
		const concurrency = 10
		var reserves []Reserve
		reserved := 0
		for _, p := range rapid.SliceOfNDistinct(rapid.IntRange(-2, 4), 1, 3, rapid.ID[int]).Draw(t, "priorities") {
			n := rapid.IntRange(1, 3).Draw(t, "slots")
			reserves, reserved = append(reserves, Reserve{p, n}), reserved+n
		}
		require.NoError(t, checkReserves(reserves, concurrency))
		s := newShares(reserves)
		var executing []int // priorities
		type trip struct {
			want  int
			below []store.Below
		}
		var trips []trip
		free := func() int {
			n := concurrency - len(executing)
			for _, tr := range trips {
				n -= tr.want
			}
			return n
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				if n := free(); n > 0 {
					n = rapid.IntRange(1, n).Draw(t, "want")
					trips = append(trips, trip{n, s.take(n, concurrency)})
				}
			case 1:
				if len(trips) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(trips)-1).Draw(t, "trip")
				tr := trips[i]
				trips = append(trips[:i:i], trips[i+1:]...)
				for _, p := range claimed(tr.want, tr.below, rapid.SliceOfN(rapid.IntRange(-3, 5), 0, 12).Draw(t, "candidates")) {
					s.started(p, 1)
					executing = append(executing, p)
				}
				s.give(tr.below)
			case 2:
				if len(executing) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(executing)-1).Draw(t, "ended")
				s.started(executing[i], -1)
				executing = append(executing[:i:i], executing[i+1:]...)
			}
			for _, r := range reserves {
				below, above := 0, 0
				for _, p := range executing {
					if p < r.Priority {
						below++
					}
				}
				for _, other := range reserves {
					if other.Priority >= r.Priority {
						above += other.Slots
					}
				}
				require.LessOrEqual(t, below, concurrency-above, "below %d of %v: %v", r.Priority, reserves, executing)
			}
			require.LessOrEqual(t, s.open(free(), concurrency), max(0, concurrency-reserved))
		}
		// Nothing is lost: where nothing is under way, the lowest may have what is not reserved.
		for _, tr := range trips {
			s.give(tr.below)
		}
		for _, p := range executing {
			s.started(p, -1)
		}
		require.Equal(t, concurrency-reserved, s.open(concurrency, concurrency))
	})
}

// claimed is what a trip takes of candidates: of those below a priority no more than it may.
func claimed(want int, below []store.Below, candidates []int) (taken []int) {
	for _, p := range candidates {
		fits := len(taken) < want
		for _, b := range below {
			n := 0
			for _, other := range taken {
				if other < b.Priority {
					n++
				}
			}
			fits = fits && (p >= b.Priority || n < b.Most)
		}
		if fits {
			taken = append(taken, p)
		}
	}
	return taken
}

func TestReservesThatCantBeKeptAreRefused(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkReserves(nil, 5))
	require.NoError(t, checkReserves([]Reserve{{50, 4}, {100, 1}}, 5))
	require.ErrorContains(t, checkReserves([]Reserve{{50, 4}, {100, 2}}, 5), "more slots are reserved (6)")
	require.ErrorContains(t, checkReserves([]Reserve{{50, 1}, {50, 2}}, 5), "twice for priority 50")
	require.ErrorContains(t, checkReserves([]Reserve{{50, 0}}, 5), "above zero")
}
