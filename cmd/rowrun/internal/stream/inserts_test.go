package stream

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func rowsOf(ids ...int64) (rows []store.StreamRow) {
	for _, id := range ids {
		rows = append(rows, store.StreamRow{ID: id})
	}
	return rows
}

func TestHoleIsKeptUntilNobodyCanFillIt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	in := newInserts(store.StreamStart{High: 10}, now)
	require.Equal(t, []store.Span{{Low: 11, High: math.MaxInt64}}, in.ranges())
	in.found(store.StreamInserts{Rows: rowsOf(11, 14), Xmin: 100, Next: 105}, 10, now)
	hole := store.Span{Low: 12, High: 13}
	require.Equal(t, []store.Span{hole, {Low: 15, High: math.MaxInt64}}, in.ranges())

	in.found(store.StreamInserts{Xmin: 200, Next: 205}, 10, now.Add(ripe/2))
	require.Contains(t, in.ranges(), hole, "whoever drew it may have no number yet")
	in.found(store.StreamInserts{Xmin: 200, Next: 210}, 10, now.Add(ripe))
	in.found(store.StreamInserts{Xmin: 209, Next: 220}, 10, now.Add(2*ripe))
	require.Contains(t, in.ranges(), hole, "transaction 209 is still open")
	in.found(store.StreamInserts{Xmin: 210, Next: 220}, 10, now.Add(3*ripe))
	require.NotContains(t, in.ranges(), hole)

	require.False(t, in.see(&store.StreamRow{ID: 14}))
	require.True(t, in.see(&store.StreamRow{ID: 12}), "lost, and found by its transition")
	require.False(t, in.see(&store.StreamRow{ID: 12}), "once")
	require.True(t, in.see(&store.StreamRow{ID: 13}))
	require.False(t, in.see(&store.StreamRow{ID: 9}), "there before")
}

func TestRangeThatWasNotReadToItsEndIsNoHole(t *testing.T) {
	t.Parallel()
	now := time.Now()
	in := newInserts(store.StreamStart{High: 10, Gaps: []store.Span{{Low: 1, High: 9}}}, now)
	require.True(t, in.found(store.StreamInserts{Rows: rowsOf(2, 3, 20, 21)}, 2, now))
	require.Equal(t, []store.Span{{Low: 1, High: 1}, {Low: 4, High: 9}, {Low: 11, High: 19}, {Low: 22, High: math.MaxInt64}}, in.ranges())
	require.False(t, in.found(store.StreamInserts{Rows: rowsOf(math.MaxInt64)}, 2, now))
	require.Equal(t, int64(math.MaxInt64-1), in.ranges()[len(in.ranges())-1].High, "nothing is beyond the highest id")
}

func TestWhatALookCostsIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	in := newInserts(store.StreamStart{}, now)
	var ids []int64
	for id := int64(2); len(ids) < 3*maxHoles; id += 2 { // one hole before each
		ids = append(ids, id)
	}
	for i := range 2 * maxWide {
		ids = append(ids, ids[len(ids)-1]+int64(wide*(i+3)))
	}
	in.found(store.StreamInserts{Rows: rowsOf(ids...)}, math.MaxInt, now)
	require.LessOrEqual(t, len(in.holes), maxHoles)
	broad := 0
	for _, h := range in.holes {
		if h.wide() {
			broad++
		}
	}
	require.Equal(t, maxWide, broad)
	require.True(t, in.see(&store.StreamRow{ID: 1}), "what isn't looked for any more is remembered")
}

// Whatever is found in whatever order: each id is seen once, by a look or by its transition.
func TestEachIDIsSeenOnce(t *testing.T) {
	t.Parallel()
	storetest.Check(t, 100, 10_000, func(rt *rapid.T) {
		now := time.Now()
		in := newInserts(store.StreamStart{}, now)
		exist, seen := map[int64]bool{}, map[int64]int{}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			for _, id := range rapid.SliceOfN(rapid.Int64Range(1, 60), 0, 8).Draw(rt, "commits") {
				exist[id] = true
			}
			limit := rapid.IntRange(1, 5).Draw(rt, "limit")
			now = now.Add(time.Duration(rapid.IntRange(0, 2).Draw(rt, "passed")) * ripe)
			// Numbers that let holes be given up at once: what then is inserted comes by its transition.
			look := store.StreamInserts{Xmin: 1000, Next: uint64(rapid.IntRange(900, 1100).Draw(rt, "next"))}
			for _, r := range in.ranges() {
				n := 0
				for id := r.Low; id <= min(r.High, 60) && n < limit; id++ {
					if exist[id] {
						look.Rows = append(look.Rows, store.StreamRow{ID: id})
						seen[id]++
						n++
					}
				}
			}
			in.found(look, limit, now)
			if id := rapid.Int64Range(1, 60).Draw(rt, "transition"); exist[id] && id <= in.high {
				if in.see(&store.StreamRow{ID: id}) {
					seen[id]++
				}
				require.Equal(rt, 1, seen[id], "id %d", id)
			}
		}
		for id, n := range seen {
			require.Equal(rt, 1, n, "id %d", id)
		}
	})
}
