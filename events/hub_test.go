package events_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/storetest"
)

func transitions(ids ...int64) []events.Transition {
	list := make([]events.Transition, len(ids))
	for i, id := range ids {
		list[i] = events.Transition{RunID: id, TaskID: 1, To: "DONE"}
	}
	return list
}

// reached is what a batch holds of transitions(ids…).
func reached(ids ...int64) []events.Reached {
	list := make([]events.Reached, len(ids))
	for i, id := range ids {
		list[i] = events.Reached{RunID: id, To: "DONE"}
	}
	return list
}

func TestWakesAreMergedIntoOne(t *testing.T) {
	t.Parallel()
	hub := events.NewHub()
	first, _ := hub.Subscribe(nil)
	require.Len(t, first, 1, "a new subscription is woken")
	<-first

	second, cancel := hub.Subscribe(nil)
	<-second
	for range 1000 { // nobody reads: none of these may block
		hub.Wake()
		hub.Publish(transitions(1))
		hub.Publish(nil)
		hub.Gap("test")
	}
	for _, ch := range []<-chan struct{}{first, second} {
		<-ch
		require.Empty(t, ch)
	}

	cancel()
	cancel()
	for _, wake := range []func(){
		hub.Wake,
		func() { hub.Publish(nil) },
		func() { hub.Publish(transitions(1)) },
		func() { hub.Gap("test") },
	} {
		wake()
		require.Len(t, first, 1)
		<-first
	}
	require.Empty(t, second, "a subscription that ended is not woken")
}

func TestNextMergesWhatIsPendingAndKeepsGapsInPlace(t *testing.T) {
	t.Parallel()
	hub := events.NewHub()
	batches := hub.SubscribeBatches(100)
	defer batches.Close()
	next := func() events.Batch {
		batch, err := batches.Next(t.Context())
		require.NoError(t, err)
		return batch
	}
	require.Equal(t, events.Batch{Look: true}, next())

	hub.Publish(transitions(1, 2))
	hub.Publish(transitions(3))
	require.Equal(t, events.Batch{Reached: reached(1, 2, 3)}, next())

	hub.Publish(transitions(4))
	hub.Publish(nil)
	hub.Gap("one")
	hub.Gap("two")
	hub.Publish(transitions(5))
	hub.Gap("three")
	require.Equal(t, events.Batch{Look: true, Reached: reached(4)}, next())
	require.Equal(t, events.Batch{Look: true, Gap: "one", Reached: reached(5)}, next())
	require.Equal(t, events.Batch{Look: true, Gap: "three"}, next())
}

func TestAFullBufferSaysGapAndBlocksNobody(t *testing.T) {
	t.Parallel()
	hub := events.NewHub()
	slow, quick := hub.SubscribeBatches(3), hub.SubscribeBatches(100)
	defer slow.Close()
	defer quick.Close()
	for id := range int64(10) {
		hub.Publish(transitions(id))
	}
	batch, err := slow.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, events.Batch{Look: true, Reached: reached(0, 1, 2)}, batch)
	hub.Publish(transitions(10))
	batch, err = slow.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, events.Batch{Look: true, Gap: events.GapOverflow, Reached: reached(10)}, batch)

	batch, err = quick.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, reached(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), batch.Reached)
	require.Empty(t, batch.Gap)
}

func TestNextEndsWithItsContextAndWithClose(t *testing.T) {
	t.Parallel()
	hub := events.NewHub()
	batches := hub.SubscribeBatches(1)
	_, err := batches.Next(t.Context())
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { _, err := batches.Next(ctx); ended <- err }()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)

	go func() { _, err := batches.Next(context.Background()); ended <- err }()
	batches.Close()
	batches.Close()
	require.ErrorIs(t, <-ended, events.ErrClosed)
	hub.Publish(transitions(1))
	_, err = batches.Next(t.Context())
	require.ErrorIs(t, err, events.ErrClosed)
}

// Whatever is published and read in whatever order: transitions keep their
// order, none is missing without a gap in its place, a gap stands where it was
// reported, and a buffer is never exceeded.
func TestBatchesLoseNothingSilently(t *testing.T) {
	t.Parallel()
	storetest.Check(t, 100, 10_000, func(t *rapid.T) {
		hub := events.NewHub()
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		batches := hub.SubscribeBatches(limit)
		defer batches.Close()

		var published, last int64 // ids are 1, 2, 3 …
		var reported []int64      // a gap was reported after this id
		warned := false           // a gap was read after last
		burst := 0                // transitions read since the last that was published
		publish := func(n int64) {
			var ids []int64
			for range n {
				published++
				ids = append(ids, published)
			}
			hub.Publish(transitions(ids...))
			burst = 0
		}
		next := func() {
			batch, err := batches.Next(context.Background())
			require.NoError(t, err)
			require.True(t, batch.Look || batch.Gap == "", "a gap says look")
			burst += len(batch.Reached)
			require.LessOrEqual(t, burst, limit)
			warned = warned || batch.Gap != ""
			for _, transition := range batch.Reached {
				if !warned {
					require.Equal(t, last+1, transition.RunID, "missing without a gap")
					require.NotContains(t, reported, last, "a gap is missing")
				}
				warned = false
				require.Greater(t, transition.RunID, last)
				last = transition.RunID
			}
		}

		pending := true
		for _, action := range rapid.SliceOfN(rapid.IntRange(0, 4), 0, 60).Draw(t, "actions") {
			switch {
			case action == 0:
				hub.Wake()
			case action == 1:
				hub.Gap("test")
				reported = append(reported, published)
			case action == 2:
				publish(rapid.Int64Range(1, 10).Draw(t, "n"))
			case pending:
				next()
				pending = false
				continue
			default:
				continue
			}
			pending = true
		}
		for last < published || last == 0 { // a slow reader catches up in the end
			publish(1)
			next()
		}
	})
}
