package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// Who waits for what is locked comes at most half as late again, and half a second, and asks a few times in each doubling.
func TestALockIsLeftAloneHalfAsLongAsItWasHeld(t *testing.T) {
	t.Parallel()
	var w lockWait
	now := time.Now()
	ask := func(held time.Duration) (asked int, late time.Duration) {
		over := now.Add(held)
		for ; now.Before(over); now = w.until {
			asked++
			require.Equal(t, w.busy(lockedAgain, now), w.left(now))
		}
		return asked, now.Sub(over)
	}
	for held, most := range map[time.Duration]int{
		2 * time.Millisecond: 1, 5 * time.Millisecond: 3, 50 * time.Millisecond: 9, time.Second: 18, 10 * time.Second: 36,
	} {
		w.free()
		asked, late := ask(held)
		require.LessOrEqual(t, asked, most, held)
		require.LessOrEqual(t, late, max(busyAgain, min(held/2, lockedAgain)), held)
	}
	// Who was not there for long begins anew.
	now = now.Add(time.Minute)
	require.Equal(t, busyAgain, w.busy(lockedAgain, now))
}

// What is put off until the gates are asked for again has no look before that, or dispatch would go round and round.
func TestAPromotionIsPutOffWhileTheGatesAreLeftAlone(t *testing.T) {
	t.Parallel()
	now := time.Now()
	i := &incarnation{commitWatch: commitWatch{on: true, at: now.Add(-time.Millisecond)}}
	i.gates = lockWait{since: now.Add(-time.Minute), until: now.Add(time.Minute)}
	promote, next := i.putOff(store.PromoteDue, time.Hour)
	require.Equal(t, store.PromoteNothing, promote)
	require.InDelta(t, time.Minute, next, float64(time.Second))
	require.False(t, i.commitWatch.due(now))
	require.True(t, i.commitWatch.due(i.gates.until))
	promote, _ = i.putOff(store.PromoteSweep, time.Hour)
	require.Equal(t, store.PromoteSweep, promote)
	i.gates.free()
	promote, _ = i.putOff(store.PromoteDue, time.Hour)
	require.Equal(t, store.PromoteDue, promote)
}
