package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// A promotion is put off where the last search found all that it wanted, and no other.
func TestAPromotionIsPutOffBesidePlentyAlone(t *testing.T) {
	t.Parallel()
	one := []store.Claim{{ID: 1}}
	for name, test := range map[string]struct {
		trip    store.Trip
		pass    store.Pass
		promote store.Promotion
		ago     time.Duration
		putOff  bool
	}{
		"found all it wanted":    {store.Trip{Want: 1, Claim: store.ClaimAny}, store.Pass{Claims: one}, store.PromoteDue, 0, true},
		"found fewer":            {store.Trip{Want: 2, Claim: store.ClaimAny}, store.Pass{Claims: one}, store.PromoteDue, 0, false},
		"has left what it made":  {store.Trip{Want: 1, Claim: store.ClaimAny}, store.Pass{Claims: one, Unclaimed: 1}, store.PromoteDue, 0, false},
		"did not search":         {store.Trip{Want: 1, Claim: store.ClaimFresh}, store.Pass{Claims: one}, store.PromoteDue, 0, false},
		"wanted none":            {store.Trip{}, store.Pass{}, store.PromoteDue, 0, false},
		"the last was long ago":  {store.Trip{Want: 1, Claim: store.ClaimAny}, store.Pass{Claims: one}, store.PromoteDue, time.Second, false},
		"a sweep":                {store.Trip{Want: 1, Claim: store.ClaimAny}, store.Pass{Claims: one}, store.PromoteSweep, 0, false},
		"nothing to be promoted": {store.Trip{Want: 1, Claim: store.ClaimAny}, store.Pass{Claims: one}, store.PromoteNothing, 0, false},
	} {
		i := &incarnation{promotedAt: time.Now().Add(-test.ago)}
		i.available.learned(0, test.trip, test.pass)
		promote, next := i.putOff(test.promote, time.Hour)
		if test.putOff {
			require.Equal(t, store.PromoteNothing, promote, name)
			require.LessOrEqual(t, next, promotePause, name)
			continue
		}
		require.Equal(t, test.promote, promote, name)
		require.Equal(t, time.Hour, next, name)
	}

	// Or dispatch would go round and round until the time is over.
	i := &incarnation{promotedAt: time.Now(), commitWatch: commitWatch{on: true, at: time.Now().Add(-time.Millisecond)}}
	i.available.learned(0, store.Trip{Want: 1, Claim: store.ClaimAny}, store.Pass{Claims: one})
	promote, _ := i.putOff(store.PromoteDue, time.Hour)
	require.Equal(t, store.PromoteDue, promote, "the look after a wake-up is due")
}

// Only a search behind the promotion, which tells what is in flight, ends the watch.
func TestADueLookSearchesBehindItsPromotion(t *testing.T) {
	t.Parallel()
	i := &incarnation{s: &Scheduler{}}
	require.Equal(t, store.ClaimAnyAndFresh, i.claiming(store.PromoteDue, true))
	require.Equal(t, store.ClaimFresh, i.claiming(store.PromoteDue, false))
	i.commitWatch = commitWatch{on: true, at: time.Now().Add(-time.Millisecond)}
	require.Equal(t, store.ClaimAny, i.claiming(store.PromoteDue, true))
}
