package scheduler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// fires says after which time a look that waits is due.
func fires(y *yielding) time.Duration {
	began := time.Now()
	<-y.later()
	return time.Since(began)
}

func TestOfManyReplicasSomeLookAtOnceAndTheOthersLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		chance := 0.0
		others := make(chan struct{}, 1)
		y := &yielding{pace: func() float64 { return chance }}
		for _, peers := range []int{0, 1, quickLooks} {
			y.peers, chance = peers, 0.99
			require.False(t, y.yields(false, 0), "all of %d look", peers)
			require.False(t, y.yields(true, 0), "all of %d look", peers)
		}
		y.peers, chance = 10, 0.29
		require.False(t, y.yields(false, 0), "chance has it look")
		require.Nil(t, y.later())
		require.Nil(t, y.claims(others))

		chance = 0.5
		require.True(t, y.yields(false, 0))
		require.NotNil(t, y.claims(others))
		<-time.After(5 * time.Millisecond)
		require.True(t, y.yields(false, 0), "one look is for both")
		require.True(t, y.yields(true, 0))
		require.Equal(t, 7*time.Millisecond, fires(y), "2 ms and half of 10 × 2 ms since the first")
		y.done()

		require.True(t, y.yields(false, 7))
		require.False(t, y.claimed(7), "one from before")
		require.Equal(t, 12*time.Millisecond, fires(y))
		y.done()

		require.True(t, y.yields(false, 0))
		require.False(t, y.claimed(1))
		require.Equal(t, 150*time.Millisecond, fires(y))
		y.done()

		require.True(t, y.yields(false, 0))
		require.True(t, y.yields(false, 0))
		require.False(t, y.claimed(1))
		<-time.After(50 * time.Millisecond)
		require.False(t, y.claimed(2), "as many as it was told of")
		require.True(t, y.claimed(3), "many have come at once")
		require.Equal(t, 100*time.Millisecond, fires(y), "it was put off once")
		y.done()

		require.True(t, y.yields(true, 0), "an end")
		<-time.After(10 * time.Millisecond)
		require.True(t, y.yields(false, 0), "and then a run that may be claimed")
		require.Equal(t, 12*time.Millisecond, fires(y))
		y.done()

		require.True(t, y.yields(true, 0))
		chance = 0.1
		require.False(t, y.yields(false, 0), "chance has it look, for the end too")
		require.Nil(t, y.later())

		y.peers, chance = 1000, 0.5
		require.True(t, y.yields(true, 0))
		require.Equal(t, yieldMost*3/4, fires(y), "however many they are")

		for peers, times := range map[int]time.Duration{0: 1, 3: 1, 5: 1, 6: 2, 29: 9, 30: 10, 1000: 10} {
			y.peers = peers
			require.Equal(t, times*time.Minute, y.shared(time.Minute), "%d", peers)
		}
	})
}

func TestOfManyReplicasSomeSurveyEverything(t *testing.T) {
	t.Parallel()
	chance := 0.0
	y := &yielding{pace: func() float64 { return chance }}
	for _, c := range []struct {
		peers  int
		chance float64
		depth  store.SurveyDepth
	}{
		{0, 0.99, store.SurveyAll},
		{quickLooks, 0.99, store.SurveyAll},
		{quickLooks + 1, 0.7, store.SurveyAll},
		{quickLooks + 1, 0.99, store.SurveyWork},
		{surveyors, 0.99, store.SurveyWork},
		{100, 0.02, store.SurveyAll},
		{100, 0.09, store.SurveyWork},
		{100, 0.11, store.SurveyOwn},
		{1000, 0.11, store.SurveyOwn},
	} {
		y.peers, chance = c.peers, c.chance
		require.Equal(t, c.depth, y.depth(), "%v", c)
	}
}

func TestManyReplicasShareTheSlowSweeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Scheduler{cfg: Config{SweepInterval: 5 * time.Second}}
		for peers, times := range map[int64]time.Duration{0: 1, 3: 1, surveyors: 1, 2 * surveyors: 2, 100: 10, 1000: 10} {
			s.peers.Store(peers)
			begun := time.Now()
			s.sleepAmong(t.Context(), time.Minute)
			require.Equal(t, times*time.Minute, time.Since(begun), "%d", peers)
		}

		s.peers.Store(100)
		begun := time.Now()
		time.AfterFunc(90*time.Second, func() { s.peers.Store(1) }) // most of them have died
		s.sleepAmong(t.Context(), time.Minute)
		require.LessOrEqual(t, time.Since(begun), 95*time.Second)
		require.GreaterOrEqual(t, time.Since(begun), 90*time.Second)

		s.peers.Store(100)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		s.sleepAmong(ctx, time.Minute)
		require.Equal(t, time.Second, time.Since(begun))
	})
}
