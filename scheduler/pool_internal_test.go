package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rowrun/rowrun/store/storetest"
)

func seats(p *Pool, n int) (all []*seat, freed []chan struct{}) {
	for range n {
		told := make(chan struct{}, 1)
		s := p.seat(told)
		s.sit()
		all, freed = append(all, s), append(freed, told)
	}
	return all, freed
}

func newPool(t require.TestingT, slots int) *Pool {
	p, err := NewPool(slots, nil)
	require.NoError(t, err)
	return p
}

// Trips of several schedulers that overlap, and runs that start and end in any order, never have more under way than there are slots.
func TestPoolIsNeverExceeded(t *testing.T) {
	t.Parallel()
	storetest.Check(t, 200, 5000, func(t *rapid.T) {
		size := rapid.IntRange(1, 12).Draw(t, "slots")
		p := newPool(t, size)
		now := time.Unix(0, 0)
		p.now = func() time.Time { return now }
		all, _ := seats(p, rapid.IntRange(1, 4).Draw(t, "schedulers"))
		type trip struct {
			of   *seat
			want int
		}
		var trips []trip
		executing := map[*seat]int{}
		busy := func() (n int) {
			for _, runs := range executing {
				n += runs
			}
			for _, tr := range trips {
				n += tr.want
			}
			return n
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			s := all[rapid.IntRange(0, len(all)-1).Draw(t, "who")]
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				if n := s.take(rapid.IntRange(1, 20).Draw(t, "most"), rapid.Bool().Draw(t, "wants")); n > 0 {
					trips = append(trips, trip{s, n})
				}
			case 1:
				if len(trips) > 0 {
					tr := trips[0]
					trips = trips[1:]
					claimed := rapid.IntRange(0, tr.want).Draw(t, "claimed")
					for range claimed {
						tr.of.started()
					}
					executing[tr.of] += claimed
					tr.of.give(tr.want)
				}
			case 2:
				if executing[s] > 0 {
					executing[s]--
					s.give(1)
				}
			default:
				now = now.Add(turnFor / 2)
			}
			require.LessOrEqual(t, busy(), size)
			require.Equal(t, busy(), p.Taken())
		}
	})
}

// One that has all slots, and could fill each that becomes free at once, leaves the next ones to who waits for them.
func TestWhoWaitsForASlotHasTheNextOnesUpToItsShare(t *testing.T) {
	t.Parallel()
	p := newPool(t, 10)
	now := time.Unix(0, 0)
	p.now = func() time.Time { return now }
	all, freed := seats(p, 2)
	greedy, late := all[0], all[1]
	for greedy.take(100, true) > 0 {
	}
	require.Equal(t, 10, p.Taken(), "alone it has all")
	for i := range 5 {
		require.Zero(t, late.take(100, true))
		greedy.give(1)
		require.Len(t, freed[1], 1, "the one that waits is told")
		<-freed[1]
		require.Zero(t, greedy.take(100, true), "and has its turn")
		require.Equal(t, 1, late.take(100, true))
		require.Equal(t, i+1, late.taken)
	}
	require.Zero(t, late.take(100, true))
	greedy.give(1)
	require.Equal(t, 1, greedy.take(100, true), "beyond its share it waits like others")
}

// Slots that are kept for one that doesn't come are the others' after its turn, and they are told.
func TestTurnOfOneThatDoesNotComeIsOver(t *testing.T) {
	t.Parallel()
	p := newPool(t, 4)
	all, freed := seats(p, 2)
	for all[0].take(100, true) > 0 {
	}
	require.Zero(t, all[1].take(100, true))
	all[0].give(1)
	require.Zero(t, all[0].take(100, true), "it is kept")
	select {
	case <-freed[0]:
	case <-time.After(10 * time.Second):
		require.Fail(t, "nobody was told")
	}
	require.Equal(t, 1, all[0].take(100, true))
}

// A trip whose answer doesn't come leaves something to the others.
func TestTripTakesItsShareOrHalfOfWhatIsFree(t *testing.T) {
	t.Parallel()
	p := newPool(t, 20)
	all, _ := seats(p, 2)
	require.Equal(t, 10, all[0].take(1000, true))
	require.Equal(t, 10, all[1].take(1000, true))
	all[1].give(10)
	require.Equal(t, 5, all[0].take(1000, true))
	require.Equal(t, 5, all[1].take(1000, true))
}

func TestPoolRefusesWhatCanNotBeMeant(t *testing.T) {
	t.Parallel()
	_, err := NewPool(0, nil)
	require.ErrorContains(t, err, "at least one slot")
	_, err = NewPool(2, []Reserve{{Priority: 1, Slots: 3}})
	require.ErrorContains(t, err, "more slots are reserved (3) than there are (2)")
}
